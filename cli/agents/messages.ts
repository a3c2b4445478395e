import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { retryOnRateLimit } from '../requests/retryOnRateLimit.ts'
import type { CardPlace } from '../cards/cardApi.ts'
import type { Context } from '../context/context.ts'
import { exitOf } from '../failures/failure.ts'
import type { Column } from '../output/output.ts'
import type { Color } from '../output/terminal.ts'
import { escapeControls } from '../output/text.ts'

export type Message = Output<Contract['agents']['messages']>[number]
/** `since` and `before` are IDs of messages or times in ISO 8601. */
export interface MessageFilter {
  sessionId?: string
  since?: string
  before?: string
}

const maxConcurrent = 1000

export const messageColumns: Column<Message>[] = [
  { name: 'id', style: 'id', align: 'right', value: message => message.id },
  { name: 'at', style: 'time', value: message => message.at },
  { name: 'role', value: message => message.role },
  { name: 'name', header: 'TOOL', value: message => message.tool?.name },
  { name: 'status', style: 'status', value: message => message.tool?.status },
  { name: 'content', style: 'text', value: message => message.content },
  { name: 'sessionId', hidden: true, value: message => message.sessionId },
  { name: 'attachments', hidden: true, value: message => namesOf(message) },
]

/** The names of the files that a person attached to a message, with the IDs for downloads. */
const namesOf = ({ attachments }: Message): string =>
  attachments.map(({ id, filename }) => `${filename} (${id})`).join(', ')

/** At most `limit` messages of a card, oldest first: those after `since`, or without it the last ones. */
export async function readMessages(
  { client }: Context,
  place: CardPlace,
  filter: MessageFilter,
  limit: number,
): Promise<Message[]> {
  const messages: Message[] = []
  for (let next = filter; messages.length < limit;) {
    const wanted = Math.min(maxConcurrent, limit - messages.length)
    const page = await retryOnRateLimit(() => client.agents.messages({ ...place, ...next, limit: wanted }))
    if (filter.since === undefined) messages.unshift(...page)
    else messages.push(...page)
    if (page.length < wanted) break
    next = filter.since === undefined ? { ...next, before: page[0]!.id } : { ...next, since: page.at(-1)!.id }
  }
  return messages
}

/** The ID of a card's last message; `0` when there is none. */
export const lastMessageId = async (context: Context, place: CardPlace): Promise<string> =>
  (await readMessages(context, place, {}, 1))[0]?.id ?? '0'

/** Returns a predicate for messages that the user's settings hide. JSON output includes all messages. */
export const hiddenBySettings = async (context: Context): Promise<(message: Message) => boolean> =>
  context.out.json ? () => false : hiddenByPerson(context)

/** Returns a predicate for messages that the user's settings hide: reasoning and tool types. */
async function hiddenByPerson({ client, external }: Context): Promise<(message: Message) => boolean> {
  if (external) return () => false
  try {
    const { agentReasoning, hiddenToolTypes } = await client.settings.getUser()
    return ({ role, tool }) =>
      (role === 'thought' && !agentReasoning) || (tool !== null && hiddenToolTypes.includes(tool.kind))
  } catch (error) {
    if (exitOf(error) === 'denied') return () => false
    throw error
  }
}

const colors: Record<Message['role'], Color | undefined> = {
  user: 'green',
  agent: 'cyan',
  thought: 'dim',
  tool: 'magenta',
  plan: 'blue',
  system: 'yellow',
}

/** Returns the line above a message on a terminal: author, time, and for a tool its name and status. */
export function headOf({ out }: Pick<Context, 'out'>, message: Message): string {
  const { role, at, tool } = message
  const time = new Date(at).toTimeString().slice(0, 8)
  const what = tool ? [tool.name || tool.kind, tool.status].map(text => `  ${escapeControls(text)}`).join('') : ''
  const files = message.attachments.length === 0 ? '' : `  ${escapeControls(`with ${namesOf(message)}`)}`
  return `${out.paint(role, colors[role] ?? 'bold')}  ${out.paint(time, 'dim')}${what}${files}\n`
}

/** A message on a terminal. For a tool, only the line: its input and output are in the JSON. */
export function drawMessage(context: Pick<Context, 'out'>, message: Message): string {
  if (message.tool || message.content === '') return headOf(context, message)
  const text = escapeControls(message.content, true).replace(/\n*$/, '\n')
  return headOf(context, message) + (message.role === 'thought' ? context.out.paint(text, 'dim') : text)
}
