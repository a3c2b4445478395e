import { Option, type Command } from 'commander'
import { CardStatus } from '../../../src/contract/fields.ts'
import { atRest, followUntilDone, printReached, requireCompleted, untilDone } from '../../agents/waitForAgents.ts'
import { statuses } from '../../parsing/arguments.ts'
import { runBulk, type BulkOptions } from '../../input/bulk.ts'
import { cancelAgent, inItsProject, placeOf, type CardPlace } from '../../cards/cardApi.ts'
import { runCard } from '../../cards/cardRun.ts'
import { openContext, type Context } from '../../context/context.ts'
import { exitOf, Failure, usage } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import { lastMessageId } from '../../agents/messages.ts'
import { reconnectOption } from '../../requests/outage.ts'

interface RunOptions {
  force?: boolean
  wait?: boolean
  follow?: boolean
  reconnect: number
}
interface WaitOptions {
  for?: CardStatus[]
  exitStatus?: boolean
  reconnect: number
}

export function registerVerbs(cards: Command): void {
  const run = cards
    .command('run <cards...>')
    .summary('Start the agents of cards')
    .description(
      'Start, resume or restart the agents of cards. A card outside an active column moves to the first active column of its board. - reads IDs from stdin.',
    )
    .option(
      '-w, --wait',
      'wait until the agents end or need you, for up to --timeout; exit with 1 unless all completed',
    )
    .option('-f, --follow', 'follow the messages of one card until its agent ends')
    .option('--force', 'start a blocked card, and move it into a full column')
    .option('-y, --yes', 'no effect: this command never prompts')
    .addOption(reconnectOption())
    .action(async (ids: string[], options: RunOptions) => startCards(await openContext(run), ids, options))
  prints(run, null, 'id result error')
  example(
    run,
    'board cards run 12 --follow',
    'board cards run 12 13 --wait --timeout 3600',
    'board cards list -c backlog --label nightly -q | board cards run -',
  )

  const cancel = cards
    .command('cancel <cards...>')
    .summary('Cancel the agents of cards')
    .description('Cancel the agents of cards. Their files remain. - reads IDs from stdin.')
    .action(async (ids: string[]) => {
      const context = await openContext(cancel)
      await runBulk(context, ids, id => inItsProject(context, id, place => cancelAgent(context, place)), {
        verb: 'cancelled',
        label: 'Cancelling',
      })
    })
  prints(cancel, null, 'id result error')
  example(cancel, 'board cards cancel 12', 'board cards list -s running -q | board cards cancel -')
  registerWait(cards)
}

function registerWait(cards: Command): void {
  const wait = cards
    .command('wait <cards...>')
    .summary('Wait until cards have a status')
    .description(
      'Wait until each card has one of the statuses, and print one line when each card reaches it. By default, wait until its agent has ended or waits for you. If nothing is running, queued or scheduled that could change a card to such a status, the wait for the card ends, and the command exits with 1. After --timeout, the command exits with 8. - reads IDs from stdin.',
    )
    .addOption(
      new Option('--for <status>', 'status, or several separated by commas')
        .choices(CardStatus.options)
        .argParser(statuses),
    )
    .option('--exit-status', 'exit with 1 unless every card is completed')
    .addOption(reconnectOption())
    .action(async (ids: string[], options: WaitOptions) => waitForCards(await openContext(wait), ids, options))
  prints(wait, null, 'id status statusReason title error')
  example(
    wait,
    'board cards wait 12 --exit-status && board cards merge 12',
    'board cards wait 12 13 --for completed,failed --timeout 600',
    'board cards list -s running -q | board cards wait -',
  )
}

async function startCards(
  context: Context,
  ids: string[],
  { wait, follow, force, reconnect }: RunOptions,
): Promise<void> {
  const options = { verb: 'started', label: 'Starting' }
  if (follow && (ids.length > 1 || ids[0] === '-'))
    throw usage('--follow accepts only one card', { hint: 'for several: --wait, or board events' })
  if (follow) return followRun(context, ids[0]!, reconnect, force)
  const run = (id: string) =>
    inItsProject(context, id, async place => {
      await runCard(context, place, force)
      return place
    })
  if (!wait) return runBulk(context, ids, run, options)
  const { places, failure } = await eachPlace(context, ids, run, options)
  context.out.done(
    `Started ${places.map(({ cardId }) => cardId).join(', ')}; waiting. Ctrl-C stops waiting, not the agents.`,
  )
  await untilDone(context, places, reconnect)
  if (failure !== undefined) throw failure
}

async function followRun(context: Context, id: string, reconnectSecs: number, force?: boolean): Promise<void> {
  const place = await placeOf(context, id)
  const since = await lastMessageId(context, place)
  await runCard(context, place, force)
  await followUntilDone(context, place, since, reconnectSecs)
}

async function waitForCards(
  context: Context,
  ids: string[],
  { for: wanted, exitStatus, reconnect }: WaitOptions,
): Promise<void> {
  const { places, failure } = await eachPlace(context, ids, id => placeOf(context, id), {
    verb: 'found',
    label: 'Finding',
  })
  const outcomes = await printReached(context, places, wanted ? new Set(wanted) : atRest, reconnect)
  if (failure !== undefined) throw failure
  if (exitStatus) return requireCompleted(context, outcomes)
  const missed = outcomes.filter(outcome => 'error' in outcome)
  if (missed.length === 0) return
  throw outcomes.length === 1
    ? missed[0]!.error
    : new Failure('failure', `${missed.length} of ${outcomes.length} did not reach the state`)
}

/**
 * Runs an action on each card and returns the references of the cards. A failure does not stop the other actions and is
 * reported at the end.
 */
async function eachPlace(
  context: Context,
  ids: string[],
  action: (id: string) => Promise<CardPlace>,
  options: BulkOptions,
): Promise<{ places: CardPlace[]; failure?: unknown }> {
  const places: CardPlace[] = []
  try {
    await runBulk(context, ids, async id => places.push(await action(id)), { ...options, silent: true })
    return { places }
  } catch (failure) {
    if (places.length === 0 || exitOf(failure) !== 'failure') throw failure
    return { places, failure }
  }
}
