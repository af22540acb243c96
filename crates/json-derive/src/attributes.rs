//! The `serde` attributes of a container, a variant or a field.

use syn::{Attribute, LitStr, Path, Result};

use crate::case::Case;

/// What stands on a type, a variant or a field. Each reader takes what concerns it.
#[derive(Default)]
pub(crate) struct Attributes {
    pub(crate) rename: Option<String>,
    pub(crate) rename_all: Option<Case>,
    pub(crate) rename_all_fields: Option<Case>,
    pub(crate) tag: Option<String>,
    pub(crate) deny_unknown_fields: bool,
    pub(crate) default: Option<DefaultValue>,
    pub(crate) transparent: bool,
    pub(crate) from: Option<Path>,
    /// A test for what is not written.
    pub(crate) skip_if: Option<Path>,
}

/// Where the value of an absent field comes from.
pub(crate) enum DefaultValue {
    /// `Default::default()`.
    Trait,
    /// A function.
    Function(Path),
}

impl Attributes {
    pub(crate) fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut read = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
            attribute.parse_nested_meta(|meta| {
                let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
                match name.as_str() {
                    "rename" => read.rename = Some(meta.value()?.parse::<LitStr>()?.value()),
                    "rename_all" => read.rename_all = Some(Case::parse(&meta.value()?.parse()?)?),
                    "rename_all_fields" => {
                        read.rename_all_fields = Some(Case::parse(&meta.value()?.parse()?)?)
                    }
                    "tag" => read.tag = Some(meta.value()?.parse::<LitStr>()?.value()),
                    "deny_unknown_fields" => read.deny_unknown_fields = true,
                    "transparent" => read.transparent = true,
                    "from" => read.from = Some(meta.value()?.parse::<LitStr>()?.parse()?),
                    "skip_serializing_if" => read.skip_if = Some(meta.value()?.parse::<LitStr>()?.parse()?),
                    "default" => {
                        read.default = Some(match meta.value() {
                            Ok(value) => DefaultValue::Function(value.parse::<LitStr>()?.parse()?),
                            Err(_) => DefaultValue::Trait,
                        });
                    }
                    _ => {
                        return Err(
                            meta.error("FromJson does not know this attribute; write the impl by hand")
                        );
                    }
                }
                Ok(())
            })?;
        }
        Ok(read)
    }
}
