//! stub
#[derive(Clone, Debug)] pub struct LabelSelector;
#[derive(Clone, Debug)] pub struct FieldSelector;
use fieldmanager_value::Value;
impl LabelSelector { pub fn parse(_: &str) -> Result<Self, String> { Ok(Self) } pub fn is_empty(&self) -> bool { true } pub fn matches(&self, _: &Value) -> bool { true } }
impl FieldSelector { pub fn parse(_: &str) -> Result<Self, String> { Ok(Self) } pub fn is_empty(&self) -> bool { true } pub fn labels(&self) -> impl Iterator<Item = &str> { [].into_iter() } pub fn and_equals(self, _: &str, _: &str) -> Self { self }
 pub fn matches<'a>(&self, _: impl Fn(&str) -> std::borrow::Cow<'a, str>) -> bool { true } }
