//! From a type's definition to its `FromJson`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Fields, FieldsNamed, Ident, Result, Variant};

use crate::attributes::{Attributes, DefaultValue};
use crate::case::Case;

pub(crate) fn from_json(input: &DeriveInput) -> Result<TokenStream> {
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(&input.generics, "FromJson is for types without parameters"));
    }
    let attributes = Attributes::read(&input.attrs)?;
    let body = match &input.data {
        Data::Struct(data) => read_struct(&attributes, &data.fields)?,
        Data::Enum(data) => {
            let variants: Vec<&Variant> = data.variants.iter().collect();
            match &attributes.tag {
                Some(tag) => read_tagged(&attributes, tag, &variants)?,
                None => read_external(&attributes, &variants)?,
            }
        }
        Data::Union(_) => return Err(Error::new_spanned(input, "a union has no JSON")),
    };
    let name = &input.ident;
    Ok(quote! {
        impl ::panelot_base::json::FromJson for #name {
            #[inline(never)]
            fn from_json(
                value: ::panelot_base::json::Value,
            ) -> ::core::result::Result<Self, ::panelot_base::json::JsonError> {
                #body
            }
        }
    })
}

fn read_struct(attributes: &Attributes, fields: &Fields) -> Result<TokenStream> {
    if let Some(from) = &attributes.from {
        return Ok(quote! {
            <#from as ::panelot_base::json::FromJson>::from_json(value).map(::core::convert::Into::into)
        });
    }
    match fields {
        Fields::Named(fields) => {
            let read = read_fields(attributes, attributes.rename_all, &quote!(Self), fields)?;
            Ok(quote! {
                let mut fields = ::panelot_base::json::Fields::of(value)?;
                #read
            })
        }
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
            Ok(quote!(::panelot_base::json::FromJson::from_json(value).map(Self)))
        }
        Fields::Unnamed(_) | Fields::Unit => {
            Err(Error::new_spanned(fields, "FromJson reads named fields or one value"))
        }
    }
}

/// Reads the fields of `target` from the variable `fields`.
fn read_fields(
    attributes: &Attributes,
    case: Option<Case>,
    target: &TokenStream,
    fields: &FieldsNamed,
) -> Result<TokenStream> {
    let (mut reads, mut idents, mut found) = (Vec::new(), Vec::new(), Vec::new());
    for field in &fields.named {
        let own = Attributes::read(&field.attrs)?;
        let Some(ident) = &field.ident else { continue };
        let plain = ident.to_string();
        let key = own.rename.unwrap_or_else(|| case.map_or_else(|| plain.clone(), |case| case.field(&plain)));
        let local = format_ident!("field_{}", plain);
        let read = match (own.default, &attributes.default) {
            (Some(DefaultValue::Trait), _) => quote!(fields.or_default(#key)),
            (Some(DefaultValue::Function(function)), _) => quote!(fields.or_else(#key, #function)),
            (None, Some(_)) => quote!(fields.or_else(#key, || default.#ident)),
            (None, None) => quote!(fields.required(#key)),
        };
        reads.push(quote!(let #local = #read;));
        idents.push(ident);
        found.push(local);
    }
    let default =
        attributes.default.as_ref().map(|_| quote!(let default: Self = ::core::default::Default::default();));
    let deny = attributes.deny_unknown_fields.then(|| quote!(fields.deny_unknown();));
    // All fields are read before the first error counts: one way out makes far less code than one for each field.
    Ok(quote! {
        #default
        #(#reads)*
        #deny
        match (fields.finish(), #(#found,)*) {
            (::core::result::Result::Ok(()), #(::core::option::Option::Some(#found),)*) => {
                ::core::result::Result::Ok(#target { #(#idents: #found),* })
            }
            (::core::result::Result::Err(error), ..) => ::core::result::Result::Err(error),
            _ => ::core::result::Result::Err(::panelot_base::json::JsonError::new("missing")),
        }
    })
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

/// `{"tag": "variant", …the variant's fields}`.
fn read_tagged(attributes: &Attributes, tag: &str, variants: &[&Variant]) -> Result<TokenStream> {
    let mut arms = Vec::new();
    for variant in variants {
        let (ident, name): (&Ident, String) = (&variant.ident, variant_name(attributes, variant)?);
        let read = match &variant.fields {
            Fields::Unit => quote!(::core::result::Result::Ok(Self::#ident)),
            Fields::Named(fields) => {
                read_fields(attributes, fields_case(attributes, variant)?, &quote!(Self::#ident), fields)?
            }
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                quote!(::panelot_base::json::FromJson::from_json(fields.into_value()).map(Self::#ident))
            }
            Fields::Unnamed(_) => {
                return Err(Error::new_spanned(variant, "a tagged variant has named fields"));
            }
        };
        arms.push(quote!(#name => { #read }));
    }
    Ok(quote! {
        let mut fields = ::panelot_base::json::Fields::of(value)?;
        let tag = fields.tag(#tag)?;
        match tag.as_str() {
            #(#arms)*
            _ => ::core::result::Result::Err(::panelot_base::json::JsonError::unknown(&tag).at(#tag)),
        }
    })
}

/// `"variant"` where it has no content, `{"variant": content}` where it has some.
fn read_external(attributes: &Attributes, variants: &[&Variant]) -> Result<TokenStream> {
    let (mut words, mut contents) = (Vec::new(), Vec::new());
    for variant in variants {
        let (ident, name): (&Ident, String) = (&variant.ident, variant_name(attributes, variant)?);
        match &variant.fields {
            Fields::Unit => words.push(quote!(#name => ::core::result::Result::Ok(Self::#ident),)),
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => contents.push(quote! {
                #name => ::panelot_base::json::FromJson::from_json(content).map(Self::#ident),
            }),
            Fields::Named(fields) => {
                let case = fields_case(attributes, variant)?;
                let read = read_fields(attributes, case, &quote!(Self::#ident), fields)?;
                contents.push(quote! {
                    #name => {
                        let mut fields = ::panelot_base::json::Fields::of(content)?;
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
            let name = <::std::string::String as ::panelot_base::json::FromJson>::from_json(value)?;
            match name.as_str() {
                #(#words)*
                _ => ::core::result::Result::Err(::panelot_base::json::JsonError::unknown(&name)),
            }
        });
    }
    Ok(quote! {
        let (name, content) = ::panelot_base::json::variant(value)?;
        match (name.as_str(), content) {
            (name, ::core::option::Option::None) => match name {
                #(#words)*
                _ => ::core::result::Result::Err(::panelot_base::json::JsonError::unknown(name)),
            },
            (name, ::core::option::Option::Some(content)) => match name {
                #(#contents)*
                _ => ::core::result::Result::Err(::panelot_base::json::JsonError::unknown(name)),
            },
        }
    })
}
