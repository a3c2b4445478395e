import type { Command } from 'commander'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { inItsProject, type CardPlace } from '../cards/cardApi.ts'
import { findLanding, landingFields, type Landing } from '../cards/landings.ts'
import { openContext, type Context } from '../context/context.ts'
import { pickNamed } from '../context/resolve.ts'
import { Failure } from '../failures/failure.ts'
import { example, prints } from '../help/help.ts'
import type { Column } from '../output/output.ts'

type Detail = Output<Contract['landings']['get']>

export function register(landing: Command): void {
  registerList(landing)
  registerView(landing)
  registerRemove(landing)
  for (const verb of ['pause', 'resume'] as const) registerPause(landing, verb)
}

function registerList(landing: Command): void {
  const list = landing
    .command('list')
    .summary('List the landing queue')
    .description(
      'List the landing queue of a project: the cards in their order, then the latest cards that landed or left the queue. To add a card: board cards land.',
    )
    .action(async () => {
      const context = await openContext(list)
      const { id: projectId } = await context.project()
      const { entries, isPaused } = await context.client.landings.list({ projectId })
      await context.out.list(entries, landingFields, { empty: 'The landing queue is empty.' })
      if (isPaused) context.out.done('The queue is paused. To resume it: board landing resume')
    })
  prints(list, 'landings.add')
  example(list, 'board landing list', 'board landing list --json cardId,status,reason')
}

function registerView(landing: Command): void {
  const view = landing
    .command('view <card>')
    .summary('Show the latest landing of a card')
    .description('Show the latest entry of a card in the landing queue, or the output of a gate that ran on its merge.')
    .option('--log <gate>', 'print the output of this gate (name or ID)')
    .action(async (id: string, { log }: { log?: string }) => {
      const context = await openContext(view)
      await inItsProject(context, id, async place => {
        const { id: landingId } = await findLanding(context, place.projectId, place.cardId)
        const detail = await context.client.landings.get({ projectId: place.projectId, landingId })
        if (log !== undefined) return showLog(context, place, detail, log)
        await context.out.record(detail, detailFields)
      })
    })
  prints(view, 'landings.get')
  example(view, 'board landing view 12', 'board landing view 12 --log tests')
}

const detailFields: Column<Detail>[] = [
  ...(landingFields as Column<Landing>[]),
  {
    name: 'proofs',
    header: 'GATES',
    value: ({ proofs }) => proofs.map(({ status, summary }) => `${status}: ${summary}`).join('; '),
  },
]

async function showLog(context: Context, place: CardPlace, { proofs }: Detail, wanted: string): Promise<void> {
  const { client, out } = context
  const gates = await client.gates.list({ projectId: place.projectId })
  const { id, name } = pickNamed('gate', gates, wanted, 'board gates list')
  const proof = proofs.find(({ gateId }) => gateId === id)
  if (!proof) throw new Failure('notFound', `the gate ${name} has not run on the merge of card ${place.cardId}`)
  const { output } = await client.proofs.get({ ...place, proofId: proof.id })
  await out.record(
    { ...proof, output },
    [
      { name: 'status', style: 'status', value: ({ status }) => status },
      { name: 'exitCode', header: 'EXIT', value: ({ exitCode }) => exitCode },
      { name: 'summary', style: 'text', value: ({ summary }) => summary },
      { name: 'output', hidden: true, value: each => each.output },
    ],
    { body: output },
  )
}

function registerRemove(landing: Command): void {
  const remove = landing
    .command('remove <card>')
    .summary('Remove a card from the landing queue')
    .description(
      'Remove a card from the landing queue. If its merge is being tested, the test stops. The work of the card remains.',
    )
    .action(async (id: string) => {
      const context = await openContext(remove)
      await inItsProject(context, id, async ({ projectId, cardId }) => {
        const { id: landingId } = await findLanding(context, projectId, cardId)
        await context.client.landings.cancel({ projectId, landingId })
        context.out.done(`Removed card ${cardId} from the landing queue.`)
      })
    })
  example(remove, 'board landing remove 12')
}

function registerPause(landing: Command, verb: 'pause' | 'resume'): void {
  const command = landing
    .command(verb)
    .summary(verb === 'pause' ? 'Pause the landing queue' : 'Resume the landing queue')
    .description(
      verb === 'pause'
        ? 'Pause the landing queue of a project. The test of the current card finishes, and no other test starts.'
        : 'Resume the landing queue of a project.',
    )
    .action(async () => {
      const context = await openContext(command)
      await context.client.landings[verb]({ projectId: (await context.project()).id })
      context.out.done(verb === 'pause' ? 'Paused the landing queue.' : 'Resumed the landing queue.')
    })
  example(command, `board landing ${verb}`)
}
