/**
 * A cell of CSV (RFC 4180). A spreadsheet would evaluate one that begins like a formula; an apostrophe makes it text, and imports
 * take that away again.
 */
export function formatCsvCell(text: string): string {
  const safe = /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
