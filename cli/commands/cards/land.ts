import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from 'commander'
import { inItsProject, type CardPlace } from '../../cards/cardApi.ts'
import { findLanding, isOpen, landingFields, type Landing } from '../../cards/landings.ts'
import { openContext, type Context } from '../../context/context.ts'
import { Failure } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'

const pollMs = 500

interface LandOptions {
  into?: string
  squash?: boolean
  wait?: boolean
}

export function registerVerbs(cards: Command): void {
  const land = cards
    .command('land <card>')
    .summary('Merge a card when its gates pass on the merge')
    .description(
      "Add a card to the landing queue of a branch. When it is the card's turn, the board merges the work with the branch in a separate folder, runs the gates of the merge there, and moves the branch only if they pass. On a conflict or a failure, the card's agent receives the reason, up to the project's number of rounds (board projects edit --gate-rounds).",
    )
    .option('--into <branch>', "target branch (default: the branch of the project's folder)")
    .option('--squash', 'squash into one commit')
    .option(
      '-w, --wait',
      'wait until the card lands or leaves the queue, for up to --timeout; exit with 1 unless it lands',
    )
    .action(async (id: string, options: LandOptions) => {
      const context = await openContext(land)
      await inItsProject(context, id, place => landCard(context, place, options))
    })
  prints(land, 'landings.add')
  example(land, 'board cards land 12', 'board cards land 12 --squash --wait', 'board cards land 12 --into release')
}

async function landCard(context: Context, place: CardPlace, { wait, ...target }: LandOptions): Promise<void> {
  const { client, out } = context
  const added = await client.landings.add({ ...place, ...target })
  const landing = wait ? await waitForEnd(context, place) : added
  const words =
    landing.status === 'landed'
      ? `Merged card ${place.cardId} into ${landing.branch}.`
      : `Added card ${place.cardId} to the landing queue.`
  if (landing.status !== 'rejected' && landing.status !== 'cancelled') out.done(words)
  await out.record(landing, landingFields)
  if (wait && landing.status !== 'landed')
    throw new Failure('failure', `card ${place.cardId} has not landed: ${landing.reason ?? landing.status}`, {
      see: `board landing view ${place.cardId}`,
    })
}

/** @throws Failure (timed out) after `--timeout`; the card stays in the queue */
async function waitForEnd(context: Context, { projectId, cardId }: CardPlace): Promise<Landing> {
  const { timeout } = context.globals
  const giveUpAt = timeout ? performance.now() + timeout * 1000 : Infinity
  for (;;) {
    const landing = await findLanding(context, projectId, cardId)
    if (!isOpen(landing)) return landing
    if (performance.now() > giveUpAt)
      throw new Failure('timedOut', `timed out after ${timeout} s; card ${cardId} stays in the landing queue`, {
        see: 'board landing list',
      })
    await delay(pollMs)
  }
}
