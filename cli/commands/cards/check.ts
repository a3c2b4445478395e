import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from 'commander'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { inItsProject, type CardPlace } from '../../cards/cardApi.ts'
import { openContext, type Context } from '../../context/context.ts'
import { pickNamed } from '../../context/resolve.ts'
import { Failure } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import type { Column } from '../../output/output.ts'

type CardGate = Output<Contract['proofs']['list']>[number]

const pollMs = 500

const reasonOf = ({ reason, approvedBy, proof }: CardGate): string | null =>
  reason ?? (approvedBy.length > 0 ? `Approved by ${approvedBy.join(', ')}.` : (proof?.summary ?? null))

const gateColumns: Column<CardGate>[] = [
  { name: 'id', style: 'id', align: 'right', value: ({ gate }) => gate.id },
  { name: 'name', style: 'title', value: ({ gate }) => gate.name },
  { name: 'status', style: 'status', value: statusOf },
  { name: 'reason', style: 'text', value: reasonOf },
  { name: 'finishedAt', header: 'FINISHED', style: 'time', spare: true, value: ({ proof }) => proof?.finishedAt },
  { name: 'gate', hidden: true, value: ({ gate }) => gate },
  { name: 'approvedBy', hidden: true, value: ({ approvedBy }) => approvedBy },
  { name: 'passed', hidden: true, value: ({ passed }) => passed },
  { name: 'proof', hidden: true, value: ({ proof }) => proof },
]

/** A result for other files no longer counts. */
function statusOf({ passed, proof }: CardGate): string {
  if (proof === null) return passed ? 'passed' : 'none'
  return !passed && proof.status === 'passed' ? 'superseded' : proof.status
}

export function registerVerbs(cards: Command): void {
  const check = cards
    .command('check <card>')
    .summary('Run the gates of a card')
    .description(
      "Run the gates of a card's column and of its merge: commands, and reviews by agents. A gate that passed for the same files does not run again. To set up gates: board gates.",
    )
    .option('--gate <gate>', 'run only this gate (name or ID)')
    .option('-w, --wait', 'wait for the results, for up to --timeout, and exit with 1 unless all gates pass')
    .option('--stop', 'stop queued and running gates')
    .action(async (id: string, options: { gate?: string; wait?: boolean; stop?: boolean }) => {
      const context = await openContext(check)
      await inItsProject(context, id, place => checkCard(context, place, options))
    })
  prints(check, 'proofs.list', 'id name status reason finishedAt')
  example(check, 'board cards check 12', 'board cards check 12 --gate tests --wait', 'board cards check 12 --stop')

  const proofs = cards
    .command('proofs <card>')
    .summary('List the gates ahead of a card')
    .description('List the gates ahead of a card with their latest results, or print the output of one.')
    .option('--log <gate>', "print the output of this gate's latest run (name or ID)")
    .action(async (id: string, { log }: { log?: string }) => {
      const context = await openContext(proofs)
      await inItsProject(context, id, place =>
        log === undefined ? showGates(context, place) : showLog(context, place, log),
      )
    })
  prints(proofs, 'proofs.list', 'id name status reason finishedAt')
  example(proofs, 'board cards proofs 12', 'board cards proofs 12 --log tests')
}

async function checkCard(
  context: Context,
  place: CardPlace,
  { gate, wait, stop }: { gate?: string; wait?: boolean; stop?: boolean },
): Promise<void> {
  const { client, out } = context
  if (stop) {
    const isRunning = (await client.proofs.list(place)).some(isOpen)
    if (isRunning) await client.proofs.cancel(place)
    return out.done(
      isRunning ? `Stopped the gates of card ${place.cardId}.` : `No gate of card ${place.cardId} is running.`,
    )
  }
  const gateId = gate === undefined ? undefined : (await findGate(context, place, gate)).id
  const requested = await client.proofs.check({ ...place, gateId })
  if (requested.length === 0)
    return out.done(
      `No gate that the board runs applies to card ${place.cardId} in its column. To list its gates: board cards proofs ${place.cardId}`,
    )
  const ids = new Set(requested.map(proof => proof.gateId))
  const isAsked = ({ gate: { id } }: CardGate) => ids.has(id)
  const results = (wait ? await waitForEnd(context, place, isAsked) : await client.proofs.list(place)).filter(isAsked)
  await out.list(results, gateColumns, { empty: 'No gates.' })
  if (!wait) return
  const open = results.filter(({ passed }) => !passed)
  if (open.length > 0)
    throw new Failure('failure', `card ${place.cardId} has not passed ${open.map(each => each.gate.name).join(', ')}`, {
      see: `board cards proofs ${place.cardId} --log ${open[0]!.gate.id}`,
    })
}

const isOpen = ({ proof }: CardGate): boolean => proof?.status === 'queued' || proof?.status === 'running'

/** @throws Failure (timed out) after `--timeout`; the gates continue */
async function waitForEnd(
  context: Context,
  place: CardPlace,
  isAsked: (row: CardGate) => boolean,
): Promise<CardGate[]> {
  const { timeout } = context.globals
  const giveUpAt = timeout ? performance.now() + timeout * 1000 : Infinity
  for (;;) {
    const rows = await context.client.proofs.list(place)
    if (!rows.filter(isAsked).some(isOpen)) return rows
    if (performance.now() > giveUpAt)
      throw new Failure('timedOut', `timed out after ${timeout} s; the gates of card ${place.cardId} continue`, {
        see: `board cards proofs ${place.cardId}`,
      })
    await delay(pollMs)
  }
}

async function showGates({ client, out }: Context, place: CardPlace): Promise<void> {
  await out.list(await client.proofs.list(place), gateColumns, { empty: 'No gates are ahead of the card.' })
}

async function showLog(context: Context, place: CardPlace, wanted: string): Promise<void> {
  const { id, name } = await findGate(context, place, wanted)
  const ahead = (await context.client.proofs.list(place)).find(({ gate }) => gate.id === id)
  if (!ahead) throw new Failure('notFound', `the gate ${name} is not ahead of card ${place.cardId}`)
  const { proof } = ahead
  if (!proof) throw new Failure('notFound', `the gate ${name} has not run for card ${place.cardId}`)
  const detail = await context.client.proofs.get({ ...place, proofId: proof.id })
  await context.out.record(detail, logColumns, { body: detail.output })
}

const logColumns: Column<Output<Contract['proofs']['get']>>[] = [
  { name: 'status', style: 'status', value: proof => proof.status },
  { name: 'exitCode', header: 'EXIT', value: proof => proof.exitCode },
  { name: 'summary', style: 'text', value: proof => proof.summary },
  { name: 'agent', value: proof => proof.agent },
  { name: 'costUsd', header: 'COST', value: proof => (proof.costUsd === null ? null : `$${proof.costUsd.toFixed(2)}`) },
  { name: 'startedAt', header: 'STARTED', style: 'time', value: proof => proof.startedAt },
  { name: 'finishedAt', header: 'FINISHED', style: 'time', value: proof => proof.finishedAt },
  { name: 'output', hidden: true, value: proof => proof.output },
]

async function findGate({ client }: Context, { projectId }: CardPlace, wanted: string) {
  return pickNamed('gate', await client.gates.list({ projectId }), wanted, 'board gates list')
}
