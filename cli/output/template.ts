import type * as Mustache from 'mustache'
import { usage } from '../failures/failure.ts'

const see = 'board help formatting'

/** A template of `--template`: it prints one row. */
export interface Template {
  /** The fields that it names at its top. */
  fields: string[]
  render(row: unknown): string
}

/**
 * Reads a Mustache template, which has values and sections and runs no code. `\n` and `\t` in it mean what they mean in a text.
 * @throws Failure (usage) when it is none
 */
export async function compileTemplate(source: string): Promise<Template> {
  const { default: mustache } = await import('mustache')
  const text = source.replace(/\\([nt\\])/g, (_, sign: string) => ({ n: '\n', t: '\t' })[sign] ?? sign)
  let tokens: Mustache.TemplateSpans
  try {
    tokens = mustache.parse(text)
  } catch (error) {
    throw usage(`--template: ${(error as Error).message}`, { see })
  }
  if (tokens.some(([kind]) => kind === '>')) throw usage('--template: there are no partials ({{>name}})', { see })
  return {
    fields: tokens.flatMap(([kind, name]) =>
      /^(name|[&#^])$/.test(kind) && name !== '.' ? [String(name).split('.')[0]!] : [],
    ),
    render: row => mustache.render(text, row, undefined, { escape: textOf }),
  }
}

/** What is printed is no HTML: a text is as it is, a list or a record is JSON. */
const textOf = (value: unknown): string => (typeof value === 'object' ? JSON.stringify(value) : String(value))
