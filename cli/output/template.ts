import type * as Mustache from 'mustache'
import { usage } from '../failures/failure.ts'

const see = 'board help formatting'

/** A template of `--template`: it prints one row. */
export interface Template {
  /** The fields that the template names at the top level. */
  fields: string[]
  render(row: unknown): string
}

/**
 * Parses a Mustache template, which has values and sections but runs no code. `\n` and `\t` are escapes.
 * @throws Failure (usage) if the template is invalid
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
  if (tokens.some(([kind]) => kind === '>')) throw usage('--template: partials are not supported ({{>name}})', { see })
  return {
    fields: tokens.flatMap(([kind, name]) =>
      /^(name|[&#^])$/.test(kind) && name !== '.' ? [String(name).split('.')[0]!] : [],
    ),
    render: row => mustache.render(text, row, undefined, { escape: textOf }),
  }
}

/** Returns a value verbatim, because the output is not HTML. Lists and records become JSON. */
const textOf = (value: unknown): string => (typeof value === 'object' ? JSON.stringify(value) : String(value))
