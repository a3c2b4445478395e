import type { Command } from 'commander'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { openContext } from '../../context/context.ts'
import { resolveProject } from '../../context/resolve.ts'
import { example, prints } from '../../help/help.ts'
import type { Column } from '../../output/output.ts'

type Found = Output<Contract['issues']['list']>
type Issue = Found['items'][number]
type Synced = Output<Contract['issues']['sync']>

const columns: Column<Issue>[] = [
  { name: 'number', header: 'ISSUE', style: 'id', align: 'right', value: ({ number }) => number },
  { name: 'state', value: ({ state }) => state },
  { name: 'cardId', header: 'CARD', style: 'id', align: 'right', value: ({ cardId }) => cardId },
  { name: 'title', style: 'title', value: ({ title }) => title },
  { name: 'url', style: 'text', value: ({ url }) => url },
  { name: 'problem', style: 'text', value: ({ problem }) => problem },
]

export function registerIssues(projects: Command): void {
  const issues = projects
    .command('issues [project]')
    .summary("List the cards that are issues on the project's forge")
    .description(
      'List the cards of a project (default: the current one) that were created from issues on its forge. board projects forge --issue-label selects the issues. The board reads the forge every few minutes, and reports changes of cards to it immediately.',
    )
    .option('--sync', 'synchronize first')
    .action(async (wanted: string | undefined, { sync }: { sync?: boolean }) => {
      const context = await openContext(issues)
      const { id: projectId } = await (wanted === undefined ? context.project() : resolveProject(context, wanted))
      if (sync) context.out.done(outcomeOf(await context.client.issues.sync({ projectId })))
      const items: Issue[] = []
      let state: Found['sync'] | undefined
      for (let cursor: number | undefined, more = true; more;) {
        const page: Found = await context.client.issues.list({ projectId, limit: 100, cursor })
        items.push(...page.items)
        state = page.sync
        more = page.nextCursor !== null
        cursor = Number(page.nextCursor)
      }
      await context.out.list(items, columns, { empty: whyNone(state) })
      if (state?.problem) context.out.done(`Synchronization failed: ${state.problem}`)
    })
  prints(issues, null, 'id number url title state cardId problem')
  example(
    issues,
    'board projects issues',
    'board projects issues web --sync',
    'board projects issues --json number,cardId',
  )
}

const outcomeOf = ({ imported, updated, closed, reopened, received, sent, failed }: Synced): string =>
  [
    `${imported} new, ${updated} cards changed, ${closed} issues closed, ${reopened} reopened, ${received} comments received, ${sent} sent.`,
    ...(failed > 0 ? [`${failed} issues failed. The board retries them.`] : []),
  ].join(' ')

const whyNone = (sync: Found['sync'] | undefined): string =>
  (sync?.label ?? null) === null
    ? 'The project has no label for issues. Set one with board projects forge --issue-label.'
    : `No issue with the label ${sync!.label} has become a card yet.`
