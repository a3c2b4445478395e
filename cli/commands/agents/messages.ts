import { Option, type Command } from 'commander'
import { count, messageBound } from '../../parsing/arguments.ts'
import { inItsProject, placeOf, type CardPlace } from '../../cards/cardApi.ts'
import { openContext, type Context } from '../../context/context.ts'
import { followMessages } from '../../agents/followMessages.ts'
import { example, prints } from '../../help/help.ts'
import { drawMessage, hiddenBySettings, messageColumns, readMessages, type Message } from '../../agents/messages.ts'

export interface MessagesOptions {
  session?: string
  since?: string
  before?: string
  limit: number
  all?: boolean
  follow?: boolean
}

export function registerMessages(agents: Command): void {
  const messages = addMessageOptions(
    agents
      .command('messages <card>')
      .summary("Show or follow a card's messages")
      .description(`Show the messages of a card, oldest first. ${settingsApply}`),
  )
    .option('--session <session>', 'ID of the session')
    .action(async (id: string, options: MessagesOptions) => {
      const context = await openContext(messages)
      await (options.follow
        ? showMessages(context, await placeOf(context, id), options)
        : inItsProject(context, id, place => showMessages(context, place, options)))
    })
  prints(messages, 'agents.messages')
  example(
    messages,
    'board agents messages 12 -f',
    'board agents messages 12 --since 15m',
    'board agents messages 12 --all --jq \'.[] | select(.role == "tool") | .tool.name\'',
  )
}

export const settingsApply =
  'The output omits reasoning and tool kinds that your board settings hide, except in JSON. In a pipe, -f prints each message when it is complete.'

/** Adds the options that select messages. */
export const addMessageOptions = (command: Command): Command =>
  command
    .addOption(
      new Option('--since <when>', 'show messages after a message ID, a time, or a duration ago: 15m').argParser(
        messageBound,
      ),
    )
    .addOption(new Option('--before <when>', 'show earlier messages than this').argParser(messageBound))
    .addOption(
      new Option('--limit <number>', 'maximum number of messages: the latest, or with --since the earliest')
        .argParser(count)
        .default(100),
    )
    .addOption(new Option('--all', 'show all messages').conflicts('limit'))
    .addOption(new Option('-f, --follow', 'follow new messages until Ctrl-C').conflicts('before'))

/** Prints or follows messages. */
export async function showMessages(context: Context, place: CardPlace, options: MessagesOptions): Promise<void> {
  await (options.follow ? followCard(context, place, options) : printMessages(context, place, options))
}

async function followCard(
  context: Context,
  place: CardPlace,
  { session, since, limit, all }: MessagesOptions,
): Promise<void> {
  if (context.out.terminal.stdout) context.out.done(`Following card ${place.cardId}. Press Ctrl-C to stop.`)
  await followMessages(context, place, { sessionId: session, since }, all ? Infinity : limit)
}

async function printMessages(
  context: Context,
  place: CardPlace,
  { session, since, before, limit, all }: MessagesOptions,
): Promise<void> {
  const { out } = context
  const filter = { sessionId: session, since, before }
  const [messages, hides] = await Promise.all([
    readMessages(context, place, filter, all ? Infinity : limit + (since === undefined ? 0 : 1)),
    hiddenBySettings(context),
  ])
  const shown = (all ? messages : messages.slice(0, limit)).filter(message => !hides(message))
  await printList(context, shown)
  if (!all && messages.length > limit)
    out.warn(`there are more messages; these are the first ${limit}. --all shows every message`)
}

/** Prints messages as a conversation on a terminal, otherwise as a list. */
export async function printList(context: Context, messages: readonly Message[]): Promise<void> {
  const { out } = context
  if (!out.terminal.stdout || out.json || out.quiet || messages.length === 0)
    return out.list(messages, messageColumns, { empty: 'No messages.' })
  await out.text(messages.map(message => drawMessage(context, message)).join(''))
}
