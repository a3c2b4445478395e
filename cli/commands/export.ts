import type { Command } from 'commander'
import { organizationLabel } from '../../src/boardModel/organizationLabel.ts'
import type { ApiFailure } from '../../src/client/failures.ts'
import { openUserContext, type Context } from '../context/context.ts'
import { usage } from '../failures/failure.ts'
import { example, prints } from '../help/help.ts'
import { resolveOrganization } from '../context/resolve.ts'
import { requireOutput, saveDownload } from '../output/saveDownload.ts'

export function register(command: Command): void {
  command
    .description(
      'Export an organization with its projects, boards, cards, transcripts, attachments and templates to a JSON file, and print the name of the file. The file contains no secrets. To export one project: board projects export.',
    )
    .option(
      '-o, --output <file>',
      "file or folder to write, or - for stdout (default: the organization's name in the current folder)",
    )
    .option('--org <organization>', 'name or ID of the organization (default: the only one that you administer)')
    .action(async ({ output, org }: { output?: string; org?: string }) => {
      const context = await openUserContext(command)
      await requireOutput(context, output)
      const organizationId = org === undefined ? undefined : (await resolveOrganization(context, org)).id
      await saveDownload(
        context.out,
        await context.client.transfers
          .exportOrganization({ organizationId })
          .catch((error: unknown) => whichOne(context, error)),
        output,
        'organization.board.json',
      )
    })
  prints(command, null, 'path size')
  example(command, 'board export --org acme', 'board export --org acme -o - | gzip > acme.json.gz')
}

/** @throws Failure (usage) if an organization must be specified, otherwise the original error */
async function whichOne({ client }: Context, error: unknown): Promise<never> {
  if (!(error as ApiFailure).details?.some(({ path }) => path === 'organizationId')) throw error
  const own = (await client.organizations.list()).filter(({ role }) => role === 'admin')
  throw own.length === 0
    ? usage('you do not administer an organization', {
        hint: 'to save a project: board projects export -P <project>; to save another organization: --org <organization>',
        see: 'board orgs list',
      })
    : usage('you administer several organizations', {
        hint: `name one with --org: ${own.map(each => organizationLabel(each, own)).join(', ')}`,
        see: 'board orgs list',
      })
}
