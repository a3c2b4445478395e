import type { Token } from 'markdown-it'
import { importError } from '../importErrors.ts'
import { taskSources } from './cardSource.ts'
import { toStorableText, fitCardTexts, Warnings } from '../../domain/cards/fitCardTexts.ts'
import { typeOf, type Draft, type DraftCard, type DraftColumn } from './draft.ts'
import { parseMarkdown, plainText, withoutComments } from './markdownTokens.ts'

/** The columns of tasks by their state, if no heading determines the column. `map` can assign other columns to their keys. */
const todo: DraftColumn = { key: '[ ]', name: undefined, columnType: 'backlog' }
const doing: DraftColumn = { key: '[/]', name: undefined, columnType: 'active' }
const done: DraftColumn = { key: '[x]', name: undefined, columnType: 'done' }

const checkbox = /^\[\s*([^\s[\]\d]?)\s*\](?:\s+|$)/u
/** A line that looks like a task to a reader, although it is code or the rest of a paragraph. */
const taskLine = /^\s*(?:>\s*)*(?:[-*+]|\d{1,9}[.)])\s*\[[^\s[\]\d]?\s*\]\s+\S/u
const isTaskLine = (line: string) => taskLine.test(line.slice(0, 1000))
const frontMatter = /^(---|\+\+\+)[ \t]*\n((?:.*\n)*?)(?:\1|\.\.\.)[ \t]*(?:\n|$)/
const wellKnownTodo =
  /^(to ?dos?|backlog|next( up)?|ideas?|inbox|later|open|planned|new|tasks?|icebox|someday|upcoming|ready)$/i

type State = 'open' | 'active' | 'done' | 'cancelled'
interface Task {
  title: string
  state: State
  heading: Heading | undefined
  /** The enclosing list items without a check box. */
  groups: readonly string[]
  below: string[]
}
interface Heading {
  name: string
  /** The type that the file states. Undefined if only the name indicates it. */
  columnType?: 'done' | 'archive'
}
/** The enclosing list items and quotes of a block. */
interface Place {
  groups: readonly string[]
  quotes: number
}

/**
 * Reads task lists. A task that is not part of another one is a card. The blocks in it and directly below it are its prompt, and
 * a heading with tasks is a column.
 * @throws Problem INVALID_IMPORT if there is no task
 */
export function readMarkdown(text: string, filename = ''): Draft {
  const warnings = new Warnings()
  const reader = new TaskReader(toStorableText(text), warnings)
  if (reader.tasks.length === 0)
    throw importError('', 'the file must contain tasks: lines like "- [ ] Something to do"')
  const columns = columnsOf(reader.tasks, reader.headings)
  const sourceOf = taskSources(filename)
  const cards = reader.tasks.map((task): DraftCard => {
    const sections = [partOf(task.groups), task.below.join('\n')]
    const fitting = fitCardTexts({ title: task.title, sections, labels: [] }, warnings)
    return {
      column: columnOf(task, columns),
      source: sourceOf(fitting.title),
      isArchived: task.state === 'cancelled',
      ...fitting,
    }
  })
  const needed = new Set(cards.map(({ column }) => column))
  return {
    name: reader.name !== undefined && columns.has(reader.name) ? undefined : reader.name,
    columns: [
      ...(columns.size === 0 || needed.has(todo) ? [todo] : []),
      ...columns.values(),
      ...[doing, done].filter(column => columns.size === 0 || needed.has(column)),
    ],
    cards,
    warnings: warnings.list(),
  }
}

/** Columns of the headings that have tasks, in their order. */
function columnsOf(tasks: readonly Task[], headings: ReadonlyMap<string, Heading>): Map<string, DraftColumn> {
  const used = new Set(tasks.map(({ heading }) => heading))
  const columns = new Map(
    [...headings.values()]
      .filter(heading => used.has(heading))
      .map(({ name, columnType }): [string, DraftColumn] => [
        name,
        { key: name, name, columnType: columnType ?? typeOf(name) },
      ]),
  )
  const onlyDone = [...columns.values()].some(({ columnType }) => columnType === 'done') ? undefined : doneList(tasks)
  if (onlyDone && !wellKnownTodo.test(onlyDone)) columns.get(onlyDone)!.columnType = 'done'
  return columns
}

/** The only heading with done tasks, if all of its tasks are done. So "Erledigt" is also a done column. */
function doneList(tasks: readonly Task[]): string | undefined {
  const names = new Set(tasks.filter(({ state }) => state === 'done').map(({ heading }) => heading?.name))
  const [name] = names
  const isOnlyDone = tasks.every(({ heading, state }) => heading?.name !== name || state === 'done')
  return names.size === 1 && isOnlyDone ? name : undefined
}

/** The column of the state, except below a heading of done or archived tasks. */
function columnOf({ state, heading }: Task, columns: ReadonlyMap<string, DraftColumn>): DraftColumn {
  const named = heading && columns.get(heading.name)
  if (named?.columnType === 'done' || named?.columnType === 'archive') return named
  if (state === 'done') return done
  return state === 'active' && named?.columnType !== 'active' ? doing : (named ?? todo)
}

/** The states that Obsidian, GitLab and vimwiki write. Other marks mean open tasks. */
function stateOf(mark: string): State {
  if (/^[xv✓✔☑√✅]$/iu.test(mark)) return 'done'
  if (/^[-~✗✘❌]$/u.test(mark)) return 'cancelled'
  return /^[/.o]$/i.test(mark) ? 'active' : 'open'
}

const partOf = (groups: readonly string[]) => (groups.length === 0 ? '' : `Part of: ${groups.join(' > ')}`)

class TaskReader {
  readonly tasks: Task[] = []
  readonly headings = new Map<string, Heading>()
  name: string | undefined
  readonly #tokens: readonly Token[]
  readonly #lines: readonly string[]
  readonly #warnings: Warnings
  /** The number of tasks that begin before a token. */
  readonly #tasksBefore: number[] = [0]
  readonly #commentLines = new Set<number>()
  readonly #isKanban: boolean
  #heading: Heading | undefined
  /** The preceding task, while text still belongs to it. */
  #above: Task | undefined
  #isArchiveNext = false

  constructor(text: string, warnings: Warnings) {
    const head = frontMatterOf(text)
    this.#isKanban = /^kanban-plugin:/m.test(head)
    this.#warnings = warnings
    const { tokens, lines, unclosed } = parseMarkdown(text.slice(head.length).replace(/^\ufeff/, ''))
    warnings.count('Unclosed code blocks, imported as text', unclosed)
    this.#tokens = tokens
    this.#lines = lines
    for (const [at, token] of tokens.entries()) {
      this.#tasksBefore.push(this.#tasksBefore[at]! + (this.#markOf(at) === undefined ? 0 : 1))
      if (isComment(token)) for (let line = token.map![0]; line < token.map![1]; line++) this.#commentLines.add(line)
    }
    this.#readBlocks(0, tokens.length, { groups: [], quotes: 0 })
  }

  #readBlocks(from: number, to: number, place: Place): void {
    for (let at = from; at < to; at = this.#endOf(at) + 1) {
      const { type } = this.#tokens[at]!
      const end = this.#endOf(at)
      const hasTasks = this.#hasTasks(at, end)
      if (type === 'heading_open' && place.quotes === 0 && place.groups.length === 0) this.#beginHeading(at)
      else if (type === 'hr') this.#endSection(this.#tokens[at]!)
      else if (isComment(this.#tokens[at]!)) this.#countComment(this.#tokens[at]!)
      else if (this.#isCompleteMark(at)) this.#heading!.columnType = 'done'
      else if (hasTasks && type.endsWith('list_open')) this.#readItems(at + 1, end, place)
      else if (hasTasks) {
        this.#above = undefined
        this.#readBlocks(at + 1, end, { ...place, quotes: place.quotes + 1 })
        this.#above = undefined
      } else this.#readText(at, place)
    }
  }

  #readItems(from: number, to: number, place: Place): void {
    for (let at = from; at < to; at = this.#endOf(at) + 1) {
      const end = this.#endOf(at)
      if (this.#markOf(at) !== undefined) this.#readTask(at, place)
      else {
        this.#above = undefined
        const isNamed = this.#tokens[at + 1]!.type === 'paragraph_open'
        const [name = '', ...rest] = isNamed ? this.#tokens[at + 2]!.content.split('\n') : []
        if (!this.#hasTasks(at, end)) this.#readText(at, place)
        else {
          this.#countStray(rest)
          const groups = [...place.groups, plainText(name)].filter(Boolean)
          this.#readBlocks(isNamed ? at + 4 : at + 1, end, { ...place, groups })
        }
        this.#above = undefined
      }
    }
  }

  #readTask(at: number, { groups, quotes }: Place): void {
    const inline = this.#tokens[at + 2]!
    const [title = '', ...rest] = withoutComments(inline.content).split('\n')
    const task: Task = {
      title: title.replace(checkbox, ''),
      state: stateOf(this.#markOf(at)!),
      heading: this.#heading,
      groups,
      below: [...rest, ...dedent(this.#linesOf(inline.map![1], this.#tokens[at]!.map![1], quotes))],
    }
    this.tasks.push(task)
    this.#above = task
  }

  /** Text belongs to the task above it. */
  #readText(at: number, { quotes }: Place): void {
    const [from, to] = this.#tokens[at]!.map!
    const lines = this.#linesOf(from, to, quotes)
    if (this.#above && this.#tokens[at]!.type !== 'html_block') this.#above.below.push('', ...dedent(lines))
    else this.#countStray(lines)
  }

  #countStray(lines: readonly string[]): void {
    const written = lines.filter(line => line.trim() !== '')
    const tasks = written.filter(isTaskLine).length
    this.#warnings.count('Skipped lines of text outside tasks', written.length - tasks)
    this.#warnings.count('Skipped lines like tasks in code or within a paragraph', tasks)
  }

  #countComment(token: Token): void {
    const isSettings = /^%%\s*kanban:settings\b/.test(token.content)
    this.#warnings.count('Skipped lines in comments', isSettings ? 0 : token.map![1] - token.map![0])
    this.#above = undefined
  }

  #beginHeading(at: number): void {
    const name = plainText(this.#tokens[at + 1]!.content)
      .replace(/\s+/g, ' ')
      .slice(0, 200)
      .toWellFormed()
    this.name ??= name || undefined
    this.#heading = name === '' ? undefined : (this.headings.get(name) ?? { name })
    if (this.#heading) this.headings.set(name, this.#heading)
    if (this.#heading && this.#isArchiveNext) this.#heading.columnType = 'archive'
    this.#above = undefined
    this.#isArchiveNext = false
  }

  /** A line between parts. Obsidian's archive is below one. */
  #endSection({ markup }: Token): void {
    this.#above = undefined
    this.#isArchiveNext = this.#isKanban && markup.startsWith('*')
  }

  /** Obsidian's mark, in its user's language, of a list whose tasks are done. */
  #isCompleteMark(at: number): boolean {
    if (this.#tokens[at]!.type !== 'paragraph_open' || !this.#heading) return false
    const { content } = this.#tokens[at + 1]!
    const isFirst = this.#tokens[at - 1]?.type === 'heading_close'
    return content === '**Complete**' || (this.#isKanban && isFirst && /^\*\*[^*]+\*\*$/.test(content))
  }

  /** The state that a list item has as a task. */
  #markOf(at: number): string | undefined {
    if (this.#tokens[at]!.type !== 'list_item_open') return undefined
    const isText = /^(?:paragraph|heading)_open$/.test(this.#tokens[at + 1]!.type)
    return isText ? checkbox.exec(this.#tokens[at + 2]!.content)?.[1] : undefined
  }

  #hasTasks(from: number, to: number): boolean {
    return this.#tasksBefore[to + 1]! > this.#tasksBefore[from]!
  }

  /** The index of the token that closes an opening token. */
  #endOf(at: number): number {
    const { nesting, level } = this.#tokens[at]!
    let end = at
    if (nesting === 1)
      do end++
      while (this.#tokens[end]!.nesting !== -1 || this.#tokens[end]!.level !== level)
    return end
  }

  /** Lines of the file without comments and without the signs of quotes around them. */
  #linesOf(from: number, to: number, quotes: number): string[] {
    const signs = new RegExp(`^(?:\\s*> ?){0,${quotes}}`)
    return this.#lines
      .slice(from, to)
      .filter((_, index) => !this.#commentLines.has(from + index))
      .map(line => (quotes === 0 ? line : line.replace(signs, '')))
  }
}

function isComment({ type, content }: Token): boolean {
  if (type !== 'html_block' || !content.trimStart().startsWith('<!--')) return type === 'comment'
  const end = content.indexOf('-->')
  return end === -1 || content.slice(end + 3).trim() === ''
}

/** The settings for programs at the beginning of a file: lines like "key: value" between lines of ---, or of +++. */
function frontMatterOf(text: string): string {
  const [head = '', , inner = ''] = frontMatter.exec(text.slice(0, 65_536)) ?? []
  const first = inner.split('\n').find(line => line.trim() !== '' && !line.startsWith('#')) ?? ''
  const hasTasks = inner.split('\n').some(isTaskLine)
  return !hasTasks && (inner.trim() === '' || /^["'\w][^:=]*[:=]/.test(first)) ? head : ''
}

function dedent(lines: readonly string[]): string[] {
  const texts = lines.map(line => line.replace(/^\t+/, tabs => '    '.repeat(tabs.length)))
  const indent = texts.reduce(
    (minIndent, line) => (line.trim() === '' ? minIndent : Math.min(minIndent, line.search(/\S/))),
    Infinity,
  )
  return texts.map(line => line.slice(Math.min(indent, line.search(/\S|$/))))
}
