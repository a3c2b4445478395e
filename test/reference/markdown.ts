/** Renders a table of Markdown. The cells are Markdown of one line. */
export const table = (head: readonly string[], rows: ReadonlyArray<readonly string[]>): string =>
  [head, head.map(() => '---'), ...rows].map(row => `| ${row.join(' | ')} |`).join('\n')

/** Plain text as a cell of a table. */
export const cell = (text: string): string => text.replaceAll('\n', ' ').replace(/[\\`*_<>[\]|]/g, '\\$&')

/** Text as code in a cell of a table. */
export const code = (text: string): string => `\`${text.replaceAll('|', '\\|')}\``
