import { Option, type Command } from 'commander'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { placeOfMatch } from '../../src/boardModel/placeOfMatch.ts'
import { count } from '../parsing/arguments.ts'
import { openContext, requireUser } from '../context/context.ts'
import { example, prints } from '../help/help.ts'
import type { Column } from '../output/output.ts'

type Hit = Output<Contract['search']['find']>[number]

const columns: Column<Hit>[] = [
  { name: 'type', style: 'dim', value: hit => hit.type },
  { name: 'id', style: 'id', align: 'right', value: hit => hit.id },
  { name: 'projectName', header: 'PROJECT', style: 'text', value: hit => hit.projectName },
  { name: 'title', style: 'title', value: hit => hit.title },
  { name: 'columnName', header: 'COLUMN', value: hit => (hit.archived ? 'archived' : hit.columnName) },
  { name: 'status', style: 'status', value: hit => hit.status },
  { name: 'excerpt', header: 'TEXT', style: 'text', value: hit => hit.excerpt },
  { name: 'foundIn', header: 'FOUND', style: 'text', value: hit => placeOfMatch(hit) },
]

export function register(command: Command): void {
  prints(command, 'search.find')
  example(
    command
      .argument(
        '<words...>',
        'Words to find in titles, prompts, labels, comments, last messages of agents, and names; the last word can be a prefix',
      )
      .description(
        'Search cards, boards and projects in all projects that you can view, or in one project with -P. The search covers the text and the comments of cards, and the last messages of their agents.',
      )
      .addOption(new Option('--limit <number>', 'maximum number of results').argParser(count).default(20)),
    'board search login',
    'board search "memory leak" -P api',
    'board search flaky --jq \'.[] | select(.type == "card") | .id\' | board cards archive -',
  ).action(async (words: string[], { limit }: { limit: number }) => {
    const context = await openContext(command)
    requireUser(context, 'search')
    const projectId = context.globals.project === undefined ? undefined : (await context.project()).id
    await context.out.list(await context.client.search.find({ q: words.join(' '), projectId, limit }), columns, {
      empty: 'No results.',
    })
  })
}
