import type { Command } from 'commander'
import type { Client } from '../../../src/client/index.ts'
import { untilDone } from '../../agents/waitForAgents.ts'
import { inItsProject, type CardPlace } from '../../cards/cardApi.ts'
import { addAttachOption, sendWith, type AttachOptions } from '../../cards/upload.ts'
import { openContext, type Context } from '../../context/context.ts'
import { Failure, usage } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import type { Message } from '../../agents/messages.ts'
import {
  answerTo,
  findQuestion,
  openQuestions,
  questionLines,
  requireNoWords,
  type AnswerOptions,
  type Question,
} from '../../agents/questions.ts'
import { addFileOption, readMessage, readOptionalText, type TextOptions } from '../../input/messageText.ts'
import type { Column } from '../../output/output.ts'
import { askYesOrNo } from '../../input/prompt.ts'
import { reconnectOption } from '../../requests/outage.ts'

/** The fields that are printed after a message is sent. */
export const sentFields: Column<Message>[] = [
  { name: 'id', style: 'id', value: message => message.id },
  { name: 'sessionId', header: 'Session', value: message => message.sessionId },
]

export function registerSessionCommands(agents: Command): void {
  registerSend(agents)
  const retry = registerStart(
    agents,
    'retry',
    "Resume a card's latest session",
    "Resume a card's latest session, or start a new session if the agent cannot resume.",
    (client, place, force) => client.agents.retry({ ...place, force }),
    'continues',
  )
  prints(retry, null, 'id result error')
  example(retry, 'board agents retry 12')
  const relaunch = registerStart(
    agents,
    'relaunch',
    "Start a new session of a card's agent",
    "Start a new session of a card's agent, with the prompts of the column and the card.",
    (client, place, force) => client.agents.relaunch({ ...place, force }),
    'was restarted',
  )
  prints(relaunch, null, 'id result error')
  example(relaunch, 'board agents relaunch 12 --wait')

  const relay = agents
    .command('relay <card>')
    .summary('Hand off to a new session')
    .description("Make a card's agent hand off a summary to a new session.")
    .action(async (id: string) => {
      const context = await openContext(relay)
      await inItsProject(context, id, place => context.client.agents.relay(place))
      context.out.done(`The agent of card ${id} is handing off to a new session.`)
    })
  prints(relay, null, 'id result error')
  example(relay, 'board agents relay 12')
  registerApprove(agents)
}

function registerSend(agents: Command): void {
  const send = addAttachOption(
    addFileOption(
      agents
        .command('send <card> [message]')
        .summary("Send a message to a card's agent")
        .description(
          "Send a message to a card's agent. During a turn, the message waits until the turn ends. If the session has ended, the message resumes it. A message can be a command of the agent, such as /review: board agents commands.",
        ),
      'message',
    ),
  ).action(async (id: string, text: string | undefined, options: TextOptions & AttachOptions) => {
    const content = await readMessage(text, options)
    const context = await openContext(send)
    const message = await inItsProject(context, id, async place =>
      sendWith(
        context,
        async () => place,
        options.attach ?? [],
        files => context.client.agents.send({ ...place, content, ...files }),
      ),
    )
    context.out.done('Sent.')
    await context.out.record(message, sentFields)
  })
  prints(send, 'agents.messages')
  example(
    send,
    'board agents send 12 "Use the existing helper."',
    'board agents send 12 -F review.md',
    'board agents send 12 "It looks like this." --attach screenshot.png',
    'board agents send 12 /review',
    'git diff | board agents send 12 -F -',
  )
}

/** Registers a command that starts an agent and, if requested, waits for its end. */
function registerStart(
  agents: Command,
  name: string,
  summary: string,
  description: string,
  action: (client: Client, place: CardPlace, force: boolean) => Promise<unknown>,
  done: string,
): Command {
  const command = agents
    .command(`${name} <card>`)
    .summary(summary)
    .description(description)
    .option(
      '-w, --wait',
      'wait until the agent ends or needs you, for up to --timeout; exit with 1 unless it completed',
    )
    .option('--force', 'start the card even if it is blocked')
    .addOption(reconnectOption())
  type Options = { wait?: boolean; force?: boolean; reconnect: number }
  return command.action(async (id: string, { wait, force = false, reconnect }: Options) => {
    const context = await openContext(command)
    const place = await inItsProject(context, id, async place => {
      await action(context.client, place, force)
      return place
    })
    context.out.done(`The agent of card ${id} ${done}.`)
    if (wait) await untilDone(context, [place], reconnect)
  })
}

interface ApproveOptions extends TextOptions, AnswerOptions {
  request?: string
  feedback?: string
}

/** Returns the only open question, so that no other one is answered. At a terminal, shows it first. */
async function shownQuestion(
  context: Context,
  place: CardPlace,
  questions: readonly Question[],
  answer: AnswerOptions,
): Promise<Question | undefined> {
  const only = findQuestion(questions, place)
  if (!only) return undefined
  requireNoWords(only, place.cardId, answer)
  const [title, ...lines] = questionLines(only)
  if (!context.mayAsk) context.out.done(title!)
  for (const line of lines) context.out.done(line)
  const { approved, optionId } = answerTo(only, answer)
  const verb = `${approved ? 'Allow' : 'Refuse'}${optionId === undefined ? '' : ` (${optionId})`}`
  if (context.mayAsk && !(await askYesOrNo(context, `${verb}: ${title}?`, '--request')))
    throw new Failure('failure', 'the question was not answered')
  return only
}

function registerApprove(agents: Command): void {
  const approve = addFileOption(
    agents
      .command('approve <card>')
      .summary('Approve or reject a request of an agent')
      .description(
        "Approve a request of a card's agent once: its plan, its permission request, or a monitor outside the sandbox, which requires the permission to run scripts. With --reject, reject the request. With --option, select an answer of the agent, which agents view shows. On a terminal, the command shows the request and prompts, unless you specify --request.",
      ),
    'feedback',
  )
    .option('--reject', 'reject the request')
    .option('--request <id>', 'ID of the question, from board agents view')
    .option('--option <id>', 'answer of the agent, from board agents view')
    .option('--always', 'select the answer that also applies to similar requests')
    .option('--feedback <text>', 'text for the agent, as its next message')
    .action(async (id: string, { request, feedback: text, file, ...answer }: ApproveOptions) => {
      const feedback = await readOptionalText(text, { file })
      if (feedback?.trim() === '') throw usage('the feedback is empty')
      const context = await openContext(approve)
      const { approved } = await inItsProject(context, id, async place => {
        const needsIt = request === undefined || answer.option !== undefined || answer.always
        const questions = needsIt ? await openQuestions(context, place) : []
        const question =
          request === undefined
            ? await shownQuestion(context, place, questions, answer)
            : findQuestion(questions, place, request)
        const given = answerTo(question, answer)
        await context.client.agents.approvePlan({
          ...place,
          ...given,
          requestId: request ?? question?.requestId,
          feedback,
        })
        return given
      })
      context.out.done(approved ? 'Approved.' : 'Refused.')
    })
  prints(approve, null, 'id result error')
  example(
    approve,
    'board agents approve 12',
    'board agents approve 12 --request 5f0c2a9be1d4',
    'board agents approve 12 --request 5f0c2a9be1d4 --always',
    'board agents approve 12 --reject --feedback "Keep the old API."',
  )
}
