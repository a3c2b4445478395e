import type { Command } from 'commander'
import { cardBrief } from '../cards/cardColumns.ts'
import { inItsProject } from '../cards/cardApi.ts'
import { addAttachOption, sendWith, type AttachOptions } from '../cards/upload.ts'
import { openContext, type Context } from '../context/context.ts'
import { orElsewhere } from '../context/otherProjects.ts'
import { Failure } from '../failures/failure.ts'
import { example, prints } from '../help/help.ts'
import { addFileOption, readMessage, type TextOptions } from '../input/messageText.ts'
import { untilAnswered, type PreSession } from '../agents/preSessionWait.ts'
import { addNewestOptions, printNewest, type NewestOptions } from '../requests/cursorList.ts'
import type { Column } from '../output/output.ts'
import { sentFields } from './agents/steering.ts'
import { printList } from './agents/messages.ts'
import { reconnectOption } from '../requests/outage.ts'

interface WaitOptions {
  wait?: boolean
  reconnect: number
}

const fields: Column<PreSession>[] = [
  { name: 'sessionId', header: 'ID', style: 'id', value: session => session.sessionId },
  { name: 'cardId', header: 'Card', value: session => session.cardId },
  { name: 'status', style: 'status', value: session => session.status },
]
const listed: Column<PreSession>[] = [
  { name: 'sessionId', header: 'ID', style: 'id', align: 'right', value: session => session.sessionId },
  { name: 'cardId', header: 'CARD', align: 'right', value: session => session.cardId },
  { name: 'status', style: 'status', value: session => session.status },
  { name: 'createdAt', header: 'CREATED', style: 'time', value: session => session.createdAt },
  { name: 'prompt', style: 'text', value: session => session.prompt },
]

const waits = "wait for the planning agent's answer and print it, for up to --timeout; exit with 1 unless it answered"

export function register(presession: Command): void {
  const list = presession
    .command('list')
    .summary('List pre-sessions')
    .description("List the project's pre-sessions, newest first.")
    .action(async (options: NewestOptions) => {
      const context = await openContext(list)
      const { id: projectId } = await context.project()
      await printNewest(
        context.out,
        options,
        asked => context.client.preSessions.list({ projectId, ...asked }),
        listed,
        { one: 'pre-session', many: 'pre-sessions' },
      )
    })
  prints(list, 'preSessions.get')
  example(
    addNewestOptions(list, 50, 'pre-sessions'),
    'board presession list',
    'board presession list --json sessionId,status,prompt',
  )
  registerTalk(presession)
  const view = presession
    .command('view <session>')
    .summary('Show a pre-session')
    .description('Show the status of a pre-session, and its current prompt.')
    .action(async (sessionId: string) => {
      const context = await openContext(view)
      const session = await atPreSession(context, sessionId, place => context.client.preSessions.get(place))
      await context.out.record(session, fields, { body: session.prompt ?? undefined })
    })
  prints(view, 'preSessions.get')
  example(view, 'board presession view 7', 'board presession view 7 --jq .prompt')

  const messages = presession
    .command('messages <session>')
    .summary("Show a pre-session's messages")
    .description('Show the messages of a pre-session, oldest first.')
    .action(async (sessionId: string) => {
      const context = await openContext(messages)
      await printList(
        context,
        await atPreSession(context, sessionId, place => context.client.preSessions.messages(place)),
      )
    })
  prints(messages, 'preSessions.messages')
  example(messages, 'board presession messages 7')
  registerEnd(presession)
}

function registerTalk(presession: Command): void {
  const start = presession
    .command('start <card>')
    .summary("Refine a card's prompt with an agent")
    .description("Start a planning agent that reads the project, asks questions and refines a card's prompt.")
    .option('-w, --wait', waits)
    .addOption(reconnectOption())
    .action(async (id: string, { wait, reconnect }: WaitOptions) => {
      const context = await openContext(start)
      const { session, projectId } = await inItsProject(context, id, async ({ projectId, cardId }) => ({
        projectId,
        session: await context.client.preSessions.start({ projectId, cardId }),
      }))
      context.out.done(
        `Started. ${wait ? 'Answer it' : 'Its questions'}: board presession ${wait ? 'send' : 'messages'} ${session.sessionId}`,
      )
      await (wait
        ? printAnswer(context, { projectId, sessionId: session.sessionId }, reconnect)
        : context.out.record(session, fields))
    })
  prints(start, 'preSessions.get')
  example(start, 'board presession start 12', 'board presession start 12 --wait')

  const send = addAttachOption(
    addFileOption(presession.command('send <session> [message]').summary('Reply to the planning agent'), 'message'),
  )
    .option('-w, --wait', waits)
    .addOption(reconnectOption())
    .action(
      async (
        sessionId: string,
        text: string | undefined,
        { wait, reconnect, attach = [], ...options }: TextOptions & AttachOptions & WaitOptions,
      ) => {
        const content = await readMessage(text, options)
        const context = await openContext(send)
        const { id: projectId } = await context.project()
        const message = await atPreSession(context, sessionId, place =>
          sendWith(
            context,
            async () => ({ projectId, cardId: (await context.client.preSessions.get(place)).cardId }),
            attach,
            files => context.client.preSessions.send({ ...place, content, ...files }),
          ),
        )
        context.out.done('Sent.')
        await (wait
          ? printAnswer(context, { projectId, sessionId }, reconnect, message.id)
          : context.out.record(message, sentFields))
      },
    )
  prints(send, 'preSessions.messages')
  example(send, 'board presession send 7 "Only the web client."', 'board presession send 7 -F answers.md --wait')
}

/**
 * Waits for the planning agent and prints its answer to the message.
 * @throws Failure (failure) if the agent failed or the pre-session has ended
 */
async function printAnswer(
  context: Context,
  { projectId, sessionId }: { projectId: string; sessionId: string },
  reconnectSecs: number,
  after = '0',
): Promise<void> {
  const { status } = await untilAnswered(context, projectId, sessionId, reconnectSecs)
  const messages = await context.client.preSessions.messages({ projectId, sessionId })
  await printList(
    context,
    messages.filter(({ id, role }) => role === 'agent' && Number(id) > Number(after)),
  )
  if (status !== 'waiting')
    throw new Failure('failure', `pre-session ${sessionId} ${status}`, {
      see: `board presession messages ${sessionId}`,
    })
}

function registerEnd(presession: Command): void {
  const accept = presession
    .command('accept <session>')
    .summary('Accept the refined prompt')
    .description("Accept the refined prompt as the card's prompt, and end the pre-session.")
    .action(async (sessionId: string) => {
      const context = await openContext(accept)
      const card = await atPreSession(context, sessionId, place => context.client.preSessions.accept(place))
      context.out.done(`Card ${card.id} has the refined prompt.`)
      await context.out.record(card, cardBrief, { body: card.prompt })
    })
  prints(accept, 'cards.get')
  example(accept, 'board presession accept 7', 'board presession accept 7 -q | board cards run -')

  const cancel = presession
    .command('cancel <session>')
    .summary('Cancel a pre-session')
    .description('Cancel a pre-session. The card is unchanged.')
    .action(async (sessionId: string) => {
      const context = await openContext(cancel)
      await atPreSession(context, sessionId, place => context.client.preSessions.cancel(place))
      context.out.done(`Cancelled pre-session ${sessionId}.`)
    })
  example(cancel, 'board presession cancel 7')
}

/**
 * Runs an action on a pre-session of the current project.
 * @throws Failure (not found) with the project's name if the pre-session is in another project
 */
async function atPreSession<T>(
  context: Context,
  sessionId: string,
  action: (place: { projectId: string; sessionId: string }) => Promise<T>,
): Promise<T> {
  const { id: projectId } = await context.project()
  const isIn = async (other: string) => {
    await context.client.preSessions.get({ projectId: other, sessionId })
    return true
  }
  return orElsewhere(context, { kind: 'pre-session', id: sessionId, projectId }, isIn, () =>
    action({ projectId, sessionId }),
  )
}
