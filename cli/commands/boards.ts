import type { Command } from 'commander'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { openContext } from '../context/context.ts'
import { example, prints } from '../help/help.ts'
import { reorderIds } from '../input/reorder.ts'
import type { Column } from '../output/output.ts'
import { confirm } from '../input/prompt.ts'
import { listBoards, resolveBoard, resolveTemplate, type Named } from '../context/resolve.ts'

type Board = Output<Contract['boards']['update']>

const columns: Column<Named & Partial<Board>>[] = [
  { name: 'id', style: 'id', align: 'right', value: board => board.id },
  { name: 'name', style: 'title', value: board => board.name },
]

export function register(boards: Command): void {
  const list = boards
    .command('list')
    .summary('List boards')
    .description("List a project's boards in order. The first is the default board.")
    .action(async () => {
      const context = await openContext(list)
      await context.out.list(await listBoards(context, (await context.project()).id), columns)
    })
  prints(list, 'boards.list')
  example(list, 'board boards list', 'board boards list -P web -q')

  const create = boards
    .command('create <name>')
    .summary('Create a board')
    .description("Create a board with a template's columns.")
    .option('--template <template>', 'name or ID of the board template (default: Kanban)')
    .action(async (name: string) => {
      // The global option of that name receives the value (see `globalsOf`).
      const { template } = create.optsWithGlobals<{ template?: string }>()
      const context = await openContext(create)
      const { id: projectId } = await context.project()
      const templateId = template === undefined ? undefined : (await resolveTemplate(context, template)).id
      const board = await context.client.boards.create({ projectId, name, templateId })
      context.out.done(`Created board ${board.id}.`)
      await context.out.record(board, columns)
    })
  prints(create, 'boards.list')
  example(create, 'board boards create Release', 'board boards create Agents --template "Plan, build, review"')

  const rename = boards
    .command('rename <board> <name>')
    .summary('Rename a board')
    .action(async (wanted: string, name: string) => {
      const context = await openContext(rename)
      const { id: projectId } = await context.project()
      const { id: boardId } = await resolveBoard(context, projectId, wanted)
      const renamed = await context.client.boards.update({ projectId, boardId, name })
      await context.out.did(renamed, `Renamed board ${boardId}.`)
    })
  prints(rename, 'boards.list')
  example(rename, 'board boards rename Release "Release 2"')
  registerDelete(boards)
  registerReorder(boards)
}

function registerDelete(boards: Command): void {
  const command = boards
    .command('delete <board>')
    .summary('Delete a board')
    .description('Delete a board with its columns and cards.')
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async (wanted: string, { yes }: { yes?: boolean }) => {
      const context = await openContext(command)
      const { id: projectId } = await context.project()
      const { id: boardId, name } = await resolveBoard(context, projectId, wanted)
      await confirm(context, `Delete board ${boardId} "${name}" with its columns and cards?`, yes)
      await context.client.boards.delete({ projectId, boardId })
      context.out.done(`Deleted board ${boardId}.`)
    })
  example(command, 'board boards delete Release')
}

function registerReorder(boards: Command): void {
  const command = boards
    .command('reorder <boards...>')
    .summary('Reorder boards')
    .description('Reorder the boards of a project: the specified ones first, then the others in their current order.')
    .action(async (wanted: string[]) => {
      const context = await openContext(command)
      const { id: projectId } = await context.project()
      const ids = reorderIds('board', await listBoards(context, projectId), wanted, 'board boards list')
      await context.out.list(await context.client.boards.reorder({ projectId, ids }), columns)
    })
  prints(command, 'boards.list')
  example(command, 'board boards reorder Release')
}
