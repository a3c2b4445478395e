import type { Command } from 'commander'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { cardBrief } from '../cardColumns.ts'
import { inItsProject } from '../cardRoutes.ts'
import { openContext } from '../context.ts'
import { example } from '../help.ts'
import { addFileOption, messageOf, type TextOptions } from '../messageText.ts'
import type { Column } from '../output.ts'
import { sentFields } from './agents-steering.ts'
import { printList } from './agents-messages.ts'

type PreSession = Output<Contract['preSessions']['start']>

const fields: Column<PreSession>[] = [
  { name: 'sessionId', header: 'Id', style: 'id', value: session => session.sessionId }, { name: 'cardId', header: 'Card', value: session => session.cardId },
  { name: 'status', style: 'status', value: session => session.status },
]

export function register(presession: Command): void {
  const start = presession.command('start <card>').summary('Start to refine a card\'s prompt').description('Start a planning agent that reads the project, asks what is unclear and refines a card\'s prompt.')
    .action(async (id: string) => {
      const context = await openContext(start)
      const session = await inItsProject(context, id, ({ projectId, cardId }) => context.client.preSessions.start({ projectId, cardId }))
      context.out.done(`Started. Its questions: board presession messages ${session.sessionId}`)
      await context.out.record(session, fields)
    })
  example(start, 'board presession start 12')

  const send = addFileOption(presession.command('send <session> [message]').summary('Answer the planning agent').description('Answer the planning agent.'), 'message')
    .action(async (sessionId: string, text: string | undefined, options: TextOptions) => {
      const content = await messageOf(text, options)
      const context = await openContext(send)
      const message = await context.client.preSessions.send({ projectId: (await context.project()).id, sessionId, content })
      context.out.done('Sent.')
      await context.out.record(message, sentFields)
    })
  example(send, 'board presession send 7 "Only the web client."')

  const messages = presession.command('messages <session>').summary('Show a pre-session\'s messages').description('Show what was told in a pre-session, oldest first.')
    .action(async (sessionId: string) => {
      const context = await openContext(messages)
      await printList(context, await context.client.preSessions.messages({ projectId: (await context.project()).id, sessionId }))
    })
  example(messages, 'board presession messages 7')
  registerEnd(presession)
}

function registerEnd(presession: Command): void {
  const accept = presession.command('accept <session>').summary('Make the refined prompt the card\'s prompt').description('Make the refined prompt the card\'s prompt, and end the pre-session.')
    .action(async (sessionId: string) => {
      const context = await openContext(accept)
      const card = await context.client.preSessions.accept({ projectId: (await context.project()).id, sessionId })
      context.out.done(`Card ${card.id} has the refined prompt.`)
      await context.out.record(card, cardBrief, { body: card.prompt })
    })
  example(accept, 'board presession accept 7', 'board presession accept 7 -q | board cards run -')

  const cancel = presession.command('cancel <session>').summary('End a pre-session').description('End a pre-session; the card stays as it is.')
    .action(async (sessionId: string) => {
      const context = await openContext(cancel)
      await context.client.preSessions.cancel({ projectId: (await context.project()).id, sessionId })
      context.out.done(`Cancelled pre-session ${sessionId}.`)
    })
  example(cancel, 'board presession cancel 7')
}
