import { usage, type Failure } from '../failures/failure.ts'
import { Progress } from './progress.ts'
import { writeStderr, write } from './streams.ts'
import { cellText, drawLine, drawRecord, drawTable, drawTabs, type Column } from './table.ts'
import { paint, type Color, type Terminal } from './terminal.ts'
import type { Template } from './template.ts'
import { escapeControls, harmlessJson, nearestWords } from './text.ts'

export type { Column }

export interface OutOptions {
  terminal: Terminal
  json?: string | true
  jq?: string
  template?: string
  /** Returns the names of the fields, to check --json against them even if the list is empty. */
  fields?: () => Promise<readonly string[]>
  quiet?: boolean
  pager?: string
  write?: (text: string) => void
  writeStderr?: (text: string) => void
}

/** The output of a command: data goes to stdout in the requested format, and messages go to stderr. */
export class Out {
  readonly terminal: Terminal
  /** Whether the results are JSON or derived from it: `--json`, `--jq` or `--template` is set. */
  readonly json: boolean
  readonly quiet: boolean
  readonly #options: OutOptions
  readonly #fields: string[] | undefined
  readonly #write: (text: string) => void
  readonly #writeStderr: (text: string) => void
  #filter: ((input: unknown) => unknown[]) | undefined
  #template: Template | undefined

  constructor(options: OutOptions) {
    this.#options = options
    this.terminal = options.terminal
    this.json = [options.json, options.jq, options.template].some(each => each !== undefined)
    this.quiet = options.quiet === true
    this.#fields =
      typeof options.json === 'string'
        ? options.json
            .split(',')
            .map(name => name.trim())
            .filter(Boolean)
        : undefined
    this.#write = options.write ?? write
    this.#writeStderr = options.writeStderr ?? writeStderr
  }

  /**
   * Prints a list: a table on a terminal, tab-separated lines in a pipe, IDs with `--quiet`, an array with `--json`.
   */
  async list<Row>(
    rows: readonly Row[],
    columns: readonly Column<Row>[],
    options: { empty?: string } = {},
  ): Promise<void> {
    if (this.json) return this.value(await this.#selectFields(rows, columns))
    if (this.quiet) return this.ids(rows.map(row => idOf(row, columns)))
    const shown = columns.filter(
      ({ hidden, optional, value }) => !hidden && (!optional || rows.some(row => cellText(value(row)) !== '')),
    )
    if (rows.length === 0) return this.terminal.stdout && options.empty ? this.done(options.empty) : undefined
    this.#write(this.terminal.stdout ? drawTable(rows, shown, this.terminal) : drawTabs(rows, shown, this.terminal))
  }

  /** Prints one record: named lines, or an object with `--json`. `body` is long text below the lines. */
  async record<Row>(row: Row, fields: readonly Column<Row>[], options: { body?: string } = {}): Promise<void> {
    if (this.json) return this.value((await this.#selectFields([row], fields))[0])
    if (this.quiet) return this.ids([idOf(row, fields)])
    const shown = fields.filter(field => !field.hidden)
    const head = this.terminal.stdout
      ? drawRecord(row, shown, this.terminal)
      : shown.map(field => `${field.name}\t${drawTabs([row], [field], this.terminal)}`).join('')
    if (!options.body) return void this.#write(head)
    await this.text(
      `${head}${this.terminal.stdout ? '\n' : '--\n'}${escapeControls(options.body, true).replace(/\n?$/, '\n')}`,
    )
  }

  /** Prints one row of a continuous list: a line of JSON, or the row's fields. */
  async row<Row>(row: Row, columns: readonly Column<Row>[]): Promise<void> {
    if (this.json) return this.value((await this.#selectFields([row], columns))[0], true)
    const shown = columns.filter(column => !column.hidden)
    this.#write(
      this.quiet
        ? `${idOf(row, columns)}\n`
        : this.terminal.stdout
          ? drawLine(row, shown, this.terminal)
          : drawTabs([row], shown, this.terminal),
    )
  }

  /** Prints a value as JSON, or through `--jq` or `--template`. */
  async value(value: unknown, oneLine = false): Promise<void> {
    if (this.#options.template !== undefined) return this.#printTemplate(value)
    const indent = this.terminal.stdout && !oneLine ? 2 : undefined
    if (this.#options.jq === undefined) return this.#write(`${harmlessJson(value, indent)}\n`)
    this.#filter ??= await (await import('./jq.ts')).compileJq(this.#options.jq)
    for (const result of this.#filter(value)) {
      this.#write(
        typeof result === 'string'
          ? `${this.terminal.stdout ? escapeControls(result, true) : result}\n`
          : `${harmlessJson(result, indent)}\n`,
      )
    }
  }

  /** Prints IDs, one per line. */
  ids(ids: readonly (string | number)[]): void {
    if (ids.length > 0) this.#write(`${ids.join('\n')}\n`)
  }

  /** Prints one line of data. On a terminal, removes control sequences. */
  line(text: string): void {
    this.#write(`${this.terminal.stdout ? escapeControls(text) : text}\n`)
  }

  /** Prints long text that is already safe for a terminal. Uses the pager if the text does not fit. */
  async text(text: string): Promise<void> {
    if (!this.terminal.stdout || text.split('\n').length <= this.terminal.height) return this.#write(text)
    const { page } = await import('./pager.ts')
    await page(text, this.#options.pager, rest => this.#write(rest))
  }

  /** Reports a completed action on stderr. Prints nothing with `--quiet`. */
  done(message: string): void {
    if (!this.quiet) this.#writeStderr(`${escapeControls(message)}\n`)
  }

  /** Reports a completed action as several lines on stderr. Prints nothing with `--quiet`. */
  doneLines(text: string): void {
    if (!this.quiet) this.#writeStderr(`${escapeControls(text, true)}\n`)
  }

  /** Reports a completed action on stderr. With `--json`, prints the resulting row instead. */
  async did(row: object, message: string): Promise<void> {
    return this.json ? this.record(row, []) : this.done(message)
  }

  /** Prints the result of a deletion with `--dry-run`: a line, or the record. */
  async wouldDelete(what: string, row: object): Promise<void> {
    return this.json ? this.record(row, []) : this.line(`would delete ${what}`)
  }

  /** Prints a warning on stderr. The command continues. Prints nothing with `--quiet`. */
  warn(message: string): void {
    if (this.quiet) return
    this.#writeStderr(`${paint('warning:', 'yellow', this.terminal.stderrColor)} ${escapeControls(message)}\n`)
  }

  /** Colors a text if stdout supports color. */
  paint(text: string, color: Color): string {
    return paint(text, color, this.terminal.color)
  }

  /** Shows the progress of an operation on stderr. Only on a terminal, and after half a second. */
  progress(label: string, total?: number): Progress {
    return new Progress(label, total, this.terminal.stderr && !this.quiet && !this.json, this.#writeStderr)
  }

  /** Prints a template for each row of a list, or for one value. */
  async #printTemplate(value: unknown): Promise<void> {
    const { render } = await this.#compileTemplate()
    for (const row of Array.isArray(value) ? value : [value])
      this.#write(`${this.terminal.stdout ? escapeControls(render(row), true) : render(row)}\n`)
  }

  async #compileTemplate(): Promise<Template> {
    const { template = '', jq } = this.#options
    if (jq !== undefined) throw usage('--jq and --template are mutually exclusive')
    return (this.#template ??= await (await import('./template.ts')).compileTemplate(template))
  }

  /**
   * The rows for JSON output: complete, or only the selected fields. A template can also use columns.
   * @throws Failure with the known fields
   */
  async #selectFields<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): Promise<readonly unknown[]> {
    const known = [
      ...new Set([...columns.map(column => column.name), ...Object.keys((rows[0] as object | undefined) ?? {})]),
    ]
    const inTemplate = this.#options.template === undefined ? [] : (await this.#compileTemplate()).fields
    const unknown = [...(this.#fields ?? []), ...inTemplate].find(name => !known.includes(name))
    if (unknown !== undefined && !(rows.length === 0 && (await this.#options.fields?.())?.includes(unknown)))
      throw unknownField(unknown, known)
    const fields = this.#fields ?? (inTemplate.length > 0 ? known : undefined)
    return fields === undefined ? rows : rows.map(row => pickFields(row, columns, fields))
  }
}

function pickFields<Row>(
  row: Row,
  columns: readonly Column<Row>[],
  fields: readonly string[],
): Record<string, unknown> {
  const own = row as Record<string, unknown>
  return Object.fromEntries(
    fields.map(name => [
      name,
      (Object.hasOwn(own, name) ? own[name] : columns.find(column => column.name === name)?.value(row)) ?? null,
    ]),
  )
}

function unknownField(name: string, known: readonly string[]): Failure {
  const meant = nearestWords(name, known)
  return usage(`unknown field: ${name}`, {
    hint: meant.length > 0 ? `did you mean: ${meant.join(', ')}` : undefined,
    see: `known fields: ${known.join(', ')}`,
  })
}

function idOf<Row>(row: Row, columns: readonly Column<Row>[]): string {
  const column = columns.find(each => each.name === 'id') ?? columns[0]!
  return cellText(column.value(row))
}
