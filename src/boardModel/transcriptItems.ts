import type { Message } from './openedCard.ts'

/** A line of a transcript: a message, or a run of finished tool calls that is folded. */
export interface TranscriptItem {
  /** The messages, oldest first. Several only in a run, which can contain thoughts as well. */
  messages: readonly [Message, ...Message[]]
  startsSession: boolean
  /** Whether the message is the prompt that the board wrote for the session. */
  isPrompt: boolean
}

/** The text of a card that the board's prompts to an agent contain. */
export const taskOf = ({ prompt, title }: { prompt: string; title: string }): string => prompt.trim() || title

/** Shorter runs are not folded. */
const minCalls = 3

/**
 * Groups messages into the lines of a transcript.
 * @param task the prompt or the title of the card, which a prompt of the board contains. Undefined if people write all prompts
 */
export function transcriptItems(messages: readonly Message[], task: string | undefined): TranscriptItem[] {
  const items: TranscriptItem[] = []
  let at = 0
  while (at < messages.length) {
    const end = endOfRun(messages, at)
    const first = messages[at]!
    const isNew = messages[at - 1]?.sessionId !== first.sessionId
    items.push({
      messages: [first, ...messages.slice(at + 1, end)],
      startsSession: at > 0 && isNew,
      isPrompt: first.role === 'user' && isNew && task !== undefined && first.content.includes(task),
    })
    at = end
  }
  return items
}

/** Returns the index after the last message of the line that starts at an index. */
function endOfRun(messages: readonly Message[], start: number): number {
  let end = start
  let calls = 0
  for (let at = start; at < messages.length; at++) {
    const { tool, role, sessionId } = messages[at]!
    const isInRun = tool ? isFinished(tool) : role === 'thought'
    if (!isInRun || sessionId !== messages[start]!.sessionId) break
    // A run ends with a call.
    if (tool && ++calls > 0) end = at + 1
  }
  return calls >= minCalls ? end : start + 1
}

export const isFinished = ({ status }: NonNullable<Message['tool']>): boolean =>
  status === 'completed' || status === 'failed'

const kinds: readonly (readonly [kind: string, verb: string, noun: string])[] = [
  ['read', 'read', 'file'],
  ['search', 'searched', 'time'],
  ['edit', 'edited', 'file'],
  ['delete', 'deleted', 'file'],
  ['move', 'moved', 'file'],
  ['execute', 'ran', 'command'],
  ['fetch', 'fetched', 'page'],
]

/** Describes a run of tool calls: `Read 12 files, ran 1 command, 1 failed`. */
export function runWords(messages: readonly Message[]): string {
  const calls = messages.flatMap(({ tool }) => tool ?? [])
  const count = (verb: string, noun: string, number: number) =>
    number === 0 ? [] : [`${verb} ${number} ${noun}${number === 1 ? '' : 's'}`]
  const known = kinds.flatMap(([kind, verb, noun]) => {
    const own = calls.filter(call => call.kind === kind)
    // A file that is read twice is one file.
    const files = new Set(own.map(({ locations }, at) => (noun === 'file' && locations[0]?.path) || at))
    return count(verb, noun, files.size)
  })
  const others = calls.filter(call => kinds.every(([kind]) => kind !== call.kind)).length
  const failed = calls.filter(({ status }) => status === 'failed').length
  const words = [...known, ...count('made', known.length > 0 ? 'other call' : 'tool call', others)]
  if (failed > 0) words.push(`${failed} failed`)
  const text = words.join(', ')
  return `${text[0]!.toUpperCase()}${text.slice(1)}`
}
