/** The characters that a spreadsheet interprets as the start of a formula. */
const formula = /^[=+\-@\t\r]/

/**
 * Rows as CSV (RFC 4180), with a line of the fields' names. Text that a spreadsheet would evaluate is prefixed with an
 * apostrophe.
 */
export function toCsv(fields: readonly string[], rows: readonly object[]): string {
  const line = (cells: readonly unknown[]) => `${cells.map(cellOf).join(',')}\r\n`
  return line(fields) + rows.map(row => line(fields.map(field => (row as Record<string, unknown>)[field]))).join('')
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'string' && formula.test(value) ? `'${value}` : String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
