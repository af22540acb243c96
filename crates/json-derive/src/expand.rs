//! From a type's definition to its `FromJson`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Fields, FieldsNamed, Ident, Result, Type, Variant};

use crate::attributes::{Attributes, DefaultValue};
use crate::case::Case;

/// A blank value, and how one is read over it.
struct Code {
    blank: TokenStream,
    read: TokenStream,
}

pub(crate) fn from_json(input: &DeriveInput) -> Result<TokenStream> {
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(&input.generics, "FromJson is for types without parameters"));
    }
    let attributes = Attributes::read(&input.attrs)?;
    let Code { blank, read } = match &input.data {
        Data::Struct(data) => of_struct(&attributes, &data.fields)?,
        Data::Enum(data) => {
            let variants: Vec<&Variant> = data.variants.iter().collect();
            let read = match &attributes.tag {
                Some(tag) => read_tagged(&attributes, tag, &variants)?,
                None => read_external(&attributes, &variants)?,
            };
            Code { blank: blank_of_enum(input, &variants)?, read }
        }
        Data::Union(_) => return Err(Error::new_spanned(input, "a union has no JSON")),
    };
    let name = &input.ident;
    Ok(quote! {
        impl ::panelot_base::json::FromJson for #name {
            fn blank(reading: &::panelot_base::json::Reading) -> Self {
                let _ = reading;
                #blank
            }

            #[inline(never)]
            fn read(
                &mut self,
                value: ::panelot_base::json::Value,
                reading: &mut ::panelot_base::json::Reading,
            ) {
                #read
            }
        }
    })
}

fn of_struct(attributes: &Attributes, fields: &Fields) -> Result<Code> {
    if let Some(from) = &attributes.from {
        let read = quote! {
            let mut read = <#from as ::panelot_base::json::FromJson>::blank(reading);
            ::panelot_base::json::FromJson::read(&mut read, value, reading);
            if !reading.failed() {
                *self = ::core::convert::Into::into(read);
            }
        };
        let blank =
            quote!(::core::convert::Into::into(<#from as ::panelot_base::json::FromJson>::blank(reading)));
        return Ok(Code { blank, read });
    }
    let blank = if attributes.default.is_some() {
        quote!(::core::default::Default::default())
    } else {
        blank_fields(&quote!(Self), fields)
    };
    let read = match fields {
        Fields::Named(fields) => {
            let bound = bound(&quote!(Self), fields);
            let read = read_fields(attributes, attributes.rename_all, fields)?;
            quote! {
                let mut fields = ::panelot_base::json::Fields::of(value, reading);
                let #bound = self;
                #read
            }
        }
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
            quote!(::panelot_base::json::FromJson::read(&mut self.0, value, reading))
        }
        Fields::Unnamed(_) | Fields::Unit => {
            return Err(Error::new_spanned(fields, "FromJson reads named fields or one value"));
        }
    };
    Ok(Code { blank, read })
}

/// `target` with every field blank.
fn blank_fields(target: &TokenStream, fields: &Fields) -> TokenStream {
    let blank = quote!(::panelot_base::json::FromJson::blank(reading));
    match fields {
        Fields::Unit => target.clone(),
        Fields::Unnamed(fields) => {
            let blanks = fields.unnamed.iter().map(|_| &blank);
            quote!(#target(#(#blanks),*))
        }
        Fields::Named(fields) => {
            let idents = fields.named.iter().filter_map(|field| field.ident.as_ref());
            quote!(#target { #(#idents: #blank),* })
        }
    }
}

/// The variant with the fewest fields: it is only there to be overwritten.
fn blank_of_enum(input: &DeriveInput, variants: &[&Variant]) -> Result<TokenStream> {
    let smallest = variants.iter().min_by_key(|variant| variant.fields.len());
    let Some(variant) = smallest else {
        return Err(Error::new_spanned(input, "an enum without variants has no JSON"));
    };
    let ident = &variant.ident;
    Ok(blank_fields(&quote!(Self::#ident), &variant.fields))
}

/// A pattern that binds the fields to variables `field_NAME`.
pub(crate) fn bound(target: &TokenStream, fields: &FieldsNamed) -> TokenStream {
    let idents: Vec<&Ident> = fields.named.iter().filter_map(|field| field.ident.as_ref()).collect();
    let locals = idents.iter().map(|ident| format_ident!("field_{}", ident));
    quote!(#target { #(#idents: #locals),* })
}

/// Reads the fields, bound to variables `field_NAME`, from the variable `fields`.
fn read_fields(attributes: &Attributes, case: Option<Case>, fields: &FieldsNamed) -> Result<TokenStream> {
    let mut reads = Vec::new();
    for field in &fields.named {
        let own = Attributes::read(&field.attrs)?;
        let Some(ident) = &field.ident else { continue };
        let (plain, local) = (ident.to_string(), format_ident!("field_{}", ident));
        let key = own.rename.unwrap_or_else(|| case.map_or_else(|| plain.clone(), |case| case.field(&plain)));
        let is_plain = is_plain(&field.ty);
        reads.push(match (own.default, &attributes.default) {
            (Some(DefaultValue::Trait), _) if is_plain => quote!(fields.optional(#key, #local);),
            (Some(DefaultValue::Trait), _) => quote! {
                if !fields.optional(#key, #local) {
                    *#local = ::core::default::Default::default();
                }
            },
            (Some(DefaultValue::Function(function)), _) => quote! {
                if !fields.optional(#key, #local) {
                    *#local = #function();
                }
            },
            // The fields have the values of the type's own default; what is there is read over a blank.
            (None, Some(_)) => quote! {
                if fields.has(#key) {
                    *#local = ::panelot_base::json::FromJson::blank(fields.reading());
                    fields.optional(#key, #local);
                }
            },
            (None, None) => quote!(fields.required(#key, #local);),
        });
    }
    let deny = attributes.deny_unknown_fields.then(|| quote!(fields.deny_unknown();));
    Ok(quote! {
        #(#reads)*
        #deny
    })
}

/// Whether a blank value of this type is its default, as far as its name tells.
fn is_plain(ty: &Type) -> bool {
    const PLAIN: [&str; 12] =
        ["String", "Vec", "Option", "Map", "bool", "u8", "u16", "u32", "u64", "usize", "i32", "i64"];
    let Type::Path(path) = ty else { return false };
    path.path.segments.last().is_some_and(|segment| PLAIN.iter().any(|plain| segment.ident == plain))
}

pub(crate) fn variant_name(attributes: &Attributes, variant: &Variant) -> Result<String> {
    let plain = variant.ident.to_string();
    let own = Attributes::read(&variant.attrs)?;
    Ok(own
        .rename
        .unwrap_or_else(|| attributes.rename_all.map_or_else(|| plain.clone(), |case| case.variant(&plain))))
}

pub(crate) fn fields_case(attributes: &Attributes, variant: &Variant) -> Result<Option<Case>> {
    Ok(Attributes::read(&variant.attrs)?.rename_all.or(attributes.rename_all_fields))
}

/// Reads over a blank variant: `read` sees its fields as `field_NAME`, or its content as `content`.
fn over_blank(variants: &[&Variant], variant: &Variant, read: &TokenStream) -> TokenStream {
    let ident = &variant.ident;
    let target = quote!(Self::#ident);
    let blank = blank_fields(&target, &variant.fields);
    let pattern = match &variant.fields {
        Fields::Named(fields) => bound(&target, fields),
        Fields::Unnamed(_) | Fields::Unit => quote!(#target(content)),
    };
    let others = (variants.len() > 1).then(|| quote!(_ => {}));
    quote! {
        *self = #blank;
        match self {
            #pattern => { #read }
            #others
        }
    }
}

/// `{"tag": "variant", …the variant's fields}`.
fn read_tagged(attributes: &Attributes, tag: &str, variants: &[&Variant]) -> Result<TokenStream> {
    let mut arms = Vec::new();
    for variant in variants {
        let (ident, name): (&Ident, String) = (&variant.ident, variant_name(attributes, variant)?);
        let read = match &variant.fields {
            Fields::Unit => quote!(*self = Self::#ident;),
            Fields::Named(fields) => {
                let read = read_fields(attributes, fields_case(attributes, variant)?, fields)?;
                over_blank(variants, variant, &read)
            }
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                over_blank(variants, variant, &quote!(fields.rest(content);))
            }
            Fields::Unnamed(_) => {
                return Err(Error::new_spanned(variant, "a tagged variant has named fields"));
            }
        };
        arms.push(quote!(#name => { #read }));
    }
    Ok(quote! {
        let mut fields = ::panelot_base::json::Fields::of(value, reading);
        let tag = fields.tag(#tag);
        let reading = fields.reading();
        match tag.as_str() {
            #(#arms)*
            _ => fields.unknown_tag(#tag, &tag),
        }
    })
}

/// `"variant"` where it has no content, `{"variant": content}` where it has some.
fn read_external(attributes: &Attributes, variants: &[&Variant]) -> Result<TokenStream> {
    let (mut words, mut contents) = (Vec::new(), Vec::new());
    for variant in variants {
        let (ident, name): (&Ident, String) = (&variant.ident, variant_name(attributes, variant)?);
        match &variant.fields {
            Fields::Unit => words.push(quote!(#name => *self = Self::#ident,)),
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                let read = quote!(::panelot_base::json::FromJson::read(content, given, reading););
                let read = over_blank(variants, variant, &read);
                contents.push(quote!(#name => { #read }));
            }
            Fields::Named(fields) => {
                let read = read_fields(attributes, fields_case(attributes, variant)?, fields)?;
                let read = over_blank(variants, variant, &read);
                contents.push(quote! {
                    #name => {
                        let mut fields = ::panelot_base::json::Fields::of(given, reading);
                        let reading = fields.reading();
                        #read
                    }
                });
            }
            Fields::Unnamed(_) => {
                return Err(Error::new_spanned(variant, "a variant has one value or named fields"));
            }
        }
    }
    if contents.is_empty() {
        return Ok(quote! {
            let mut name = ::std::string::String::new();
            ::panelot_base::json::FromJson::read(&mut name, value, reading);
            match name.as_str() {
                #(#words)*
                _ => reading.unknown(&name),
            }
        });
    }
    Ok(quote! {
        let (name, given) = reading.variant(value);
        match (name.as_str(), given) {
            (name, ::core::option::Option::None) => match name {
                #(#words)*
                _ => reading.unknown(name),
            },
            (name, ::core::option::Option::Some(given)) => match name {
                #(#contents)*
                _ => reading.unknown(name),
            },
        }
    })
}
