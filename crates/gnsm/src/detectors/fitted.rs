//! Fitted detectors of several methods as one type.

/// Writes out an enum of fitted detectors by their methods' names, and all that depends on which one it is.
///
/// A detector is a [`Detector`](super::Detector) that a file can keep ([`Store`](crate::files::Store)).
macro_rules! fitted_detectors {
    (
        $(#[$about:meta])*
        $visibility:vis enum $fitted:ident {
            $($(#[$documentation:meta])* $name:literal: $variant:ident($detector:ty),)+
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone)]
        $visibility enum $fitted {
            $($(#[$documentation])* $variant(Box<$detector>),)+
        }

        impl $fitted {
            /// The method's name.
            $visibility fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)+
                }
            }

            /// The detector.
            $visibility fn detector(&self) -> &dyn $crate::detectors::Detector {
                match self {
                    $(Self::$variant(fitted) => fitted.as_ref(),)+
                }
            }

            /// Puts the detector's arrays into `tensors`; returns everything else.
            pub(crate) fn save(
                &self,
                tensors: &mut $crate::files::Tensors,
            ) -> serde_json::Result<serde_json::Value> {
                match self {
                    $(Self::$variant(fitted) => $crate::files::Store::save(fitted.as_ref(), tensors),)+
                }
            }

            /// Reads what [`Self::save`] made of the detector of that method.
            pub(crate) fn load(
                name: &str,
                document: serde_json::Value,
                layout: &$crate::columns::Layout,
                tensors: &mut $crate::files::Tensors,
            ) -> $crate::files::Loaded<Self> {
                match name {
                    $($name => {
                        let fitted = <$detector as $crate::files::Store>::load(document, layout, tensors)?;
                        Ok(Self::$variant(Box::new(fitted)))
                    })+
                    _ => Err(format!("method `{name}` is unknown").into()),
                }
            }
        }
    };
}

pub(crate) use fitted_detectors;
