//! From a type's definition to its `ToJson`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Fields, FieldsNamed, Ident, Result, Variant};

use crate::attributes::Attributes;
use crate::case::Case;
use crate::expand::{fields_case, variant_name};

pub(crate) fn to_json(input: &DeriveInput) -> Result<TokenStream> {
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(&input.generics, "ToJson is for types without parameters"));
    }
    let attributes = Attributes::read(&input.attrs)?;
    let body = match &input.data {
        Data::Struct(data) => write_struct(&attributes, &data.fields)?,
        Data::Enum(data) => {
            let arms = data.variants.iter().map(|variant| match &attributes.tag {
                Some(tag) => write_tagged(&attributes, tag, variant),
                None => write_external(&attributes, variant),
            });
            let arms = arms.collect::<Result<Vec<_>>>()?;
            quote!(match self { #(#arms)* })
        }
        Data::Union(_) => return Err(Error::new_spanned(input, "a union has no JSON")),
    };
    let name = &input.ident;
    Ok(quote! {
        impl ::panelot_base::json::ToJson for #name {
            #[inline(never)]
            fn to_json(&self) -> ::panelot_base::json::Value {
                #body
            }
        }
    })
}

fn write_struct(attributes: &Attributes, fields: &Fields) -> Result<TokenStream> {
    match fields {
        Fields::Named(fields) => {
            let idents = fields.named.iter().filter_map(|field| field.ident.as_ref());
            let locals = idents.clone().map(|ident| format_ident!("field_{}", ident));
            let bind = quote!(let Self { #(#idents: #locals),* } = self;);
            let write = write_fields(attributes.rename_all, fields)?;
            Ok(quote! {
                #bind
                let mut object = ::panelot_base::json::Object::new();
                #write
                object.into_value()
            })
        }
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
            Ok(quote!(::panelot_base::json::ToJson::to_json(&self.0)))
        }
        Fields::Unnamed(_) | Fields::Unit => {
            Err(Error::new_spanned(fields, "ToJson writes named fields or one value"))
        }
    }
}

/// Writes the fields, bound to variables `field_NAME`, into the variable `object`.
fn write_fields(case: Option<Case>, fields: &FieldsNamed) -> Result<TokenStream> {
    let mut writes = Vec::new();
    for field in &fields.named {
        let own = Attributes::read(&field.attrs)?;
        let Some(ident) = &field.ident else { continue };
        let (plain, local) = (ident.to_string(), format_ident!("field_{}", ident));
        let key = own.rename.unwrap_or_else(|| case.map_or_else(|| plain.clone(), |case| case.field(&plain)));
        let write = quote!(object.field(#key, #local););
        writes.push(match own.skip_if {
            Some(skip) => quote!(if !#skip(#local) { #write }),
            None => write,
        });
    }
    Ok(quote!(#(#writes)*))
}

fn bound(ident: &Ident, fields: &FieldsNamed) -> TokenStream {
    let idents: Vec<&Ident> = fields.named.iter().filter_map(|field| field.ident.as_ref()).collect();
    let locals = idents.iter().map(|ident| format_ident!("field_{}", ident));
    quote!(Self::#ident { #(#idents: #locals),* })
}

fn write_tagged(attributes: &Attributes, tag: &str, variant: &Variant) -> Result<TokenStream> {
    let (ident, name) = (&variant.ident, variant_name(attributes, variant)?);
    match &variant.fields {
        Fields::Unit => Ok(quote! {
            Self::#ident => ::panelot_base::json::Object::tagged(#tag, #name).into_value(),
        }),
        Fields::Named(fields) => {
            let (bound, write) =
                (bound(ident, fields), write_fields(fields_case(attributes, variant)?, fields)?);
            Ok(quote! {
                #bound => {
                    let mut object = ::panelot_base::json::Object::tagged(#tag, #name);
                    #write
                    object.into_value()
                }
            })
        }
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => Ok(quote! {
            Self::#ident(inner) => ::panelot_base::json::with_tag(#tag, #name, inner.to_json()),
        }),
        Fields::Unnamed(_) => Err(Error::new_spanned(variant, "a tagged variant has named fields")),
    }
}

fn write_external(attributes: &Attributes, variant: &Variant) -> Result<TokenStream> {
    let (ident, name) = (&variant.ident, variant_name(attributes, variant)?);
    match &variant.fields {
        Fields::Unit => Ok(quote!(Self::#ident => ::panelot_base::json::Value::from(#name),)),
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => Ok(quote! {
            Self::#ident(inner) => {
                let mut outer = ::panelot_base::json::Object::new();
                outer.field(#name, inner);
                outer.into_value()
            }
        }),
        Fields::Named(fields) => {
            let (bound, write) =
                (bound(ident, fields), write_fields(fields_case(attributes, variant)?, fields)?);
            Ok(quote! {
                #bound => {
                    let mut object = ::panelot_base::json::Object::new();
                    #write
                    let mut outer = ::panelot_base::json::Object::new();
                    outer.field(#name, &object.into_value());
                    outer.into_value()
                }
            })
        }
        Fields::Unnamed(_) => Err(Error::new_spanned(variant, "a variant has one value or named fields")),
    }
}
