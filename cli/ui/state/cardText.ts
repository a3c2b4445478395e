import { commentLines } from './comments.ts'
import { changesOf, diffLines } from '../../output/diffText.ts'
import { escapeControls } from '../../output/text.ts'
import type { Model, UserSettings } from './model.ts'
import type { Opened } from './opened.ts'
import { latestSession, type Message } from '../../../src/boardModel/openedCard.ts'
import type { LineKind, TextLine } from './textLine.ts'
import { wrap } from './wrap.ts'

/** The lines of the open tab for a width. */
export function tabLines(opened: Opened, settings: UserSettings, width: number): readonly TextLine[] {
  if (!opened.card) return [{ kind: 'dim', text: 'Reading ...' }]
  if (opened.tab === 'prompt') return promptLines(opened, width)
  if (opened.tab === 'comments') return commentLines(opened, text => markdown(text, width - 2, 'text'))
  return opened.tab === 'transcript' ? transcriptLines(opened, settings, width) : diffTab(opened, width)
}

const texts = new WeakMap<object, { width: number; lines: readonly TextLine[] }>()

function once(key: object, width: number, make: () => readonly TextLine[]): readonly TextLine[] {
  const known = texts.get(key)
  if (known?.width === width) return known.lines
  const lines = make()
  texts.set(key, { width, lines })
  return lines
}

function promptLines({ card }: Opened, width: number): readonly TextLine[] {
  return once(card!, width, () => [
    ...(card!.command === null
      ? []
      : [
          { kind: 'head' as const, text: 'Command' },
          ...paragraph(card!.command, width, 'code'),
          { kind: 'text' as const, text: '' },
        ]),
    ...(card!.prompt.trim() === ''
      ? [{ kind: 'dim' as const, text: 'No prompt: the agent gets the title and the prompt of its column.' }]
      : markdown(card!.prompt, width, 'text')),
  ])
}

const isHidden = ({ role, tool }: Message, { agentReasoning, hiddenToolTypes }: UserSettings) =>
  (role === 'thought' && !agentReasoning) || (tool !== null && hiddenToolTypes.includes(tool.kind))

function transcriptLines(opened: Opened, settings: UserSettings, width: number): readonly TextLine[] {
  const lines: TextLine[] = opened.older === 'none' ? [] : [{ kind: 'dim', text: 'Reading earlier messages ...' }]
  const shown = opened.messages.filter(message => !isHidden(message, settings))
  for (const [at, message] of shown.entries()) {
    const before = shown[at - 1]
    if (before && before.sessionId !== message.sessionId)
      lines.push({ kind: 'dim', text: '' }, { kind: 'dim', text: `session ${message.sessionId}` })
    if (lines.length > 0 && !(message.tool && before?.tool)) lines.push({ kind: 'text', text: '' })
    for (const line of once(message, width, () => messageLines(message, speakerOf(opened, message), width)))
      lines.push(line)
  }
  if (shown.length === 0)
    lines.push({
      kind: 'dim',
      text: latestSession(opened) ? 'No messages yet.' : 'No agent has worked on this card.',
    })
  return lines
}

/** The name of a message's author; an agent's own name. */
const speakerOf = ({ sessions }: Opened, { role, sessionId }: Message): string =>
  role === 'user'
    ? 'you'
    : ((role === 'agent' ? sessions.find(each => each.sessionId === sessionId)?.agent : undefined) ?? role)

function messageLines(message: Message, speaker: string, width: number): readonly TextLine[] {
  const { role, tool, content, at } = message
  if (tool) return [...toolLines(tool, width), ...toolDetails(tool, content, width)]
  const kind = role === 'tool' ? 'system' : role
  const time = new Date(at).toTimeString().slice(0, 8)
  const body =
    role === 'thought'
      ? paragraph(content.trim(), width - 2, 'thought')
      : markdown(content.trim(), width - 2, role === 'system' ? 'dim' : 'text')
  const files = message.attachments.map(({ id, filename }) => `${filename} (${id})`).join(', ')
  const given = files === '' ? [] : paragraph(`with ${files}`, width - 2, 'dim')
  return [
    { kind, text: escapeControls(speaker), aside: time },
    ...[...body, ...given].map(line => ({ ...line, text: `  ${line.text}` })),
  ]
}

const toolKinds = {
  pending: 'toolGoing',
  in_progress: 'toolGoing',
  completed: 'toolDone',
  failed: 'toolFailed',
} as const

function toolLines(
  { name, kind, status, locations }: NonNullable<Message['tool']>,
  width: number,
): readonly TextLine[] {
  const place = locations[0] ? `${locations[0].path}${locations[0].line === null ? '' : `:${locations[0].line}`}` : ''
  const title = name || kind
  const text = place !== '' && !title.includes(place.split('/').at(-1)!.split(':')[0]!) ? `${title}  ${place}` : title
  return [
    {
      kind: toolKinds[status],
      text: wrap(escapeControls(text), Math.max(10, width - kind.length - 4), 1)[0]!,
      aside: kind,
    },
  ]
}

const maxDetails = 12

/** The input of a running or waiting tool call; the error of a failed one. */
function toolDetails(
  { status, input }: NonNullable<Message['tool']>,
  content: string,
  width: number,
): readonly TextLine[] {
  if (status === 'completed') return []
  const text = content.trim() || (status === 'failed' ? '' : inputText(input))
  const lines = text === '' ? [] : paragraph(text, width - 4, status === 'failed' ? 'failed' : 'code')
  const shown =
    lines.length > maxDetails
      ? [...lines.slice(0, maxDetails), { kind: 'dim' as const, text: `${lines.length - maxDetails} more lines` }]
      : lines
  return shown.map(line => ({ ...line, text: `    ${line.text}` }))
}

function inputText(input: unknown): string {
  if (typeof input === 'string') return input
  if (typeof input !== 'object' || input === null) return ''
  return Object.entries(input)
    .filter(([, value]) => typeof value === 'string' || typeof value === 'number' || Array.isArray(value))
    .map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(' ') : String(value)}`)
    .join('\n')
}

/** Wraps a text with line breaks. */
const paragraph = (text: string, width: number, kind: LineKind): TextLine[] =>
  spread(text).flatMap(line => wrap(line, width).map(part => ({ kind, text: part })))

/** Wraps Markdown, with styles for headings and code blocks. */
function markdown(text: string, width: number, kind: LineKind): TextLine[] {
  let isCode = false
  return spread(text).flatMap(line => {
    if (/^\s*(```|~~~)/.test(line)) {
      isCode = !isCode
      return []
    }
    const lineKind = isCode ? 'code' : /^#{1,6} /.test(line) ? 'head' : kind
    return wrap(lineKind === 'head' ? line.replace(/^#+ /, '') : line, width).map(part => ({
      kind: lineKind,
      text: part,
    }))
  })
}

/** Splits a text into lines without control characters; tabs become spaces. */
const spread = (text: string): string[] =>
  escapeControls(text, true)
    .split('\n')
    .map(line => line.replaceAll('\t', '    '))

const maxFiles = 50

function diffTab({ diff }: Opened, width: number): readonly TextLine[] {
  if (diff === undefined) return [{ kind: 'dim', text: 'Reading ...' }]
  if (typeof diff === 'string') return paragraph(diff, width, 'dim')
  if (diff.diff === '') return [{ kind: 'dim', text: 'No changes yet.' }]
  return once(diff, width, () => {
    const { filesChanged, insertions, deletions } = diff.stats
    const head: TextLine = {
      kind: 'dim',
      text: `${filesChanged} ${filesChanged === 1 ? 'file' : 'files'} changed, ${insertions} inserted, ${deletions} deleted`,
    }
    const files = changesOf(diff.diff).map(({ path, insertions, deletions }): TextLine => ({
      kind: 'text',
      text: `  ${wrap(escapeControls(path), Math.max(10, width - 20), 1)[0]!}`,
      aside: `+${insertions} -${deletions}`,
    }))
    const end: TextLine[] = diff.truncated
      ? [{ kind: 'failed', text: 'The diff is too large. This is only its beginning.' }]
      : []
    return [
      head,
      ...files.slice(0, maxFiles),
      ...[...diffLines(diff.diff)].flatMap(line => toTextLines(line, width)),
      ...end,
    ]
  })
}

function toTextLines({ text, kind }: { text: string; kind: string }, width: number): TextLine[] {
  const shown = escapeControls(text, true).replaceAll('\t', '    ')
  if (kind === 'file')
    return [
      { kind: 'text', text: '' },
      { kind: 'file', text: wrap(shown.replace(/^diff --git /, ''), width, 1)[0]! },
    ]
  const lineKind: LineKind = kind === 'head' ? 'dim' : kind === 'same' ? 'text' : (kind as LineKind)
  return wrap(shown, width).map(part => ({ kind: lineKind, text: part }))
}

/** The visible lines of a tab: the height without head, tabs and footer. */
export const tabHeight = ({ size, settings }: Pick<Model, 'size' | 'settings'>): number =>
  Math.max(1, size.height - 4 - (settings.statusLine ? 1 : 0))
export const tabWidth = ({ size }: Pick<Model, 'size'>): number => Math.max(10, size.width - 2)
