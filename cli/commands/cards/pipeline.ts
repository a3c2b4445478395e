import { type Command } from 'commander'
import { runBulk } from '../../input/bulk.ts'
import { getCard, inItsProject, type CardPlace } from '../../cards/cardApi.ts'
import { openContext, type Context } from '../../context/context.ts'
import { usage } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import type { Column } from '../../output/output.ts'
import { readJson } from '../../input/readJson.ts'
import { pickNamed, listColumns } from '../../context/resolve.ts'

interface Step {
  columnId: string
  columnName?: string
  prompt?: string
  approval?: 'auto' | 'manual'
}

const stepColumns: Column<Step>[] = [
  { name: 'columnId', header: 'COLUMN ID', style: 'id', value: step => step.columnId },
  { name: 'columnName', header: 'COLUMN', value: step => step.columnName },
  { name: 'approval', value: step => step.approval },
  { name: 'prompt', style: 'text', value: step => step.prompt },
]

export function registerVerbs(cards: Command): void {
  const pipeline = cards
    .command('pipeline <card>')
    .summary("Show or change a card's pipeline")
    .description("Show or change the active columns of a card's pipeline, each with a prompt.")
    .option(
      '--set <file>',
      'steps as JSON, or - for stdin: [{"column": "Review", "prompt": "...", "approval": "manual"}]',
    )
    .action(async (id: string, { set }: { set?: string }) => {
      const context = await openContext(pipeline)
      const { steps } = await inItsProject(context, id, async place =>
        set === undefined
          ? context.client.cards.getPipeline(place)
          : setSteps(context, place, await readJson(set, '--set')),
      )
      await context.out.list(steps, stepColumns, { empty: 'No steps.' })
    })
  prints(pipeline, null, 'columnId columnName prompt approval')
  example(
    pipeline,
    'board cards pipeline 12',
    'board cards pipeline 12 --json > steps.json',
    'board cards pipeline 13 --set steps.json',
  )

  const auto = cards
    .command('auto <cards...>')
    .usage('<cards...> <on|off> [options]')
    .summary('Turn auto mode on or off')
    .description(
      'Turn auto mode on or off. In auto mode, a card starts when it is not blocked, and continues through its pipeline automatically. board cards edit --auto does the same. - reads IDs from stdin.',
    )
    .action(async (words: string[]) => {
      const [ids, wanted] = [words.slice(0, -1), words.at(-1)]
      if (ids.length === 0 || (wanted !== 'on' && wanted !== 'off'))
        throw usage('the last argument must be on or off', { hint: 'for example: board cards auto 12 13 on' })
      const context = await openContext(auto)
      const set = (place: CardPlace) => context.client.cards.setAutoMode({ ...place, enabled: wanted === 'on' })
      await runBulk(context, ids, id => inItsProject(context, id, set), {
        verb: `auto mode ${wanted}`,
        label: 'Switching',
      })
    })
  prints(auto, null, 'id result error')
  example(auto, 'board cards auto 12 on', 'board cards list -c backlog -q | board cards auto - on')
}

async function setSteps(context: Context, place: CardPlace, input: unknown) {
  const steps = Array.isArray(input) ? (input as unknown[]) : (input as { steps?: unknown } | null)?.steps
  if (!Array.isArray(steps))
    throw usage('--set requires a list of steps', {
      hint: 'for example: [{"column": "Review"}]',
      see: 'board cards pipeline --help',
    })
  const { boardId } = await getCard(context, place)
  const columns = await listColumns(context, place.projectId, boardId)
  return context.client.cards.setPipeline({
    ...place,
    steps: steps.map((step: Step & { column?: string }) => {
      const { column, ...rest } = step
      return column === undefined
        ? rest
        : { ...rest, columnId: pickNamed('column', columns, String(column), 'board columns list').id }
    }),
  })
}
