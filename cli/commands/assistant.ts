import type { Command } from 'commander'
import type { CardPlace } from '../cards/cardApi.ts'
import { addAttachOption, sendWith, type AttachOptions } from '../cards/upload.ts'
import { followUntilDone } from '../agents/waitForAgents.ts'
import { openContext, type Context } from '../context/context.ts'
import { Failure } from '../failures/failure.ts'
import { example, prints } from '../help/help.ts'
import { addFileOption, readMessage, type TextOptions } from '../input/messageText.ts'
import { printSession } from '../agents/sessionFields.ts'
import { addMessageOptions, settingsApply, printList, showMessages, type MessagesOptions } from './agents/messages.ts'
import { sentFields } from './agents/steering.ts'
import { reconnectOption } from '../requests/outage.ts'

interface SendOptions extends AttachOptions {
  wait?: boolean
  reconnect: number
}

export function register(assistant: Command): void {
  const status = assistant
    .command('status')
    .summary("Show the project assistant's session")
    .description("Show the session of the project's assistant.")
    .action(async () => {
      const context = await openContext(status)
      await printSession(context, await context.client.assistant.get({ projectId: (await context.project()).id }))
    })
  prints(status, 'assistant.get')
  example(status, 'board assistant status')

  const send = addAttachOption(
    addFileOption(
      assistant
        .command('send [message]')
        .summary("Ask the project's assistant")
        .description("Send a message to the project's assistant, which starts if necessary."),
      'message',
    ),
  )
    .option('-w, --wait', 'wait for the end and print the answer, for up to --timeout; exit with 1 unless it completed')
    .addOption(reconnectOption())
    .action(async (text: string | undefined, options: TextOptions & SendOptions) => {
      const content = await readMessage(text, options)
      await sendMessage(await openContext(send), content, options)
    })
  prints(send, 'agents.messages')
  example(
    send,
    'board assistant send "Which cards are about the login?" --wait',
    'board assistant send -F - < question.md',
  )

  const messages = addMessageOptions(
    assistant
      .command('messages')
      .summary("Show or follow the assistant's messages")
      .description(`Show the messages of the project assistant, oldest first. ${settingsApply}`),
  ).action(async (options: MessagesOptions) => {
    const context = await openContext(messages)
    const place = await assistantPlace(context)
    if (place) return showMessages(context, place, options)
    if (options.follow) throw nobodyAsked()
    await printList(context, [])
  })
  prints(messages, 'agents.messages')
  example(messages, 'board assistant messages --limit 5', 'board assistant messages -f')
}

async function sendMessage(
  context: Context,
  content: string,
  { wait, attach = [], reconnect }: SendOptions,
): Promise<void> {
  const { id: projectId } = await context.project()
  const message = await sendWith(
    context,
    async () => (await assistantPlace(context)) ?? throwFailure(nobodyAsked()),
    attach,
    files => context.client.assistant.send({ projectId, content, ...files }),
  )
  if (wait)
    return followUntilDone(
      context,
      (await assistantPlace(context)) ?? throwFailure(nobodyAsked()),
      message.id,
      reconnect,
    )
  context.out.done('Sent. To read the answer: board assistant messages')
  await context.out.record(message, sentFields)
}

/** The assistant is a card that no list shows. The first message creates it. */
async function assistantPlace(context: Context): Promise<CardPlace | undefined> {
  const { id: projectId } = await context.project()
  const { cardId } = await context.client.assistant.get({ projectId })
  return cardId === null ? undefined : { projectId, cardId }
}

const nobodyAsked = () =>
  new Failure('notFound', 'the assistant has no messages yet', {
    hint: 'to ask a question: board assistant send "..."',
  })

function throwFailure(failure: Failure): never {
  throw failure
}
