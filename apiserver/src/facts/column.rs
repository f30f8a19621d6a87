//! Columns of tables.

use fieldmanager_value::Str;

/// A column of a table of objects.
///
/// Columns of built-in kinds are recorded; those of custom resources are made of `additionalPrinterColumns`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The heading.
    pub name: Str,
    /// The OpenAPI type of the cells: `string`, `integer`, `number`, `boolean`, `date`.
    pub kind: Str,
    /// The OpenAPI format of the cells, or an empty string; `name` marks the column with the names of the objects.
    pub format: Str,
    /// A description for people.
    pub description: Str,
    /// 0 for the columns that are always shown; greater than 0 for those of wide output.
    pub priority: i32,
}
