import { InvalidArgumentError, Option, type Command } from 'commander'
import { ForgeKind, MergeMethod } from '../../../src/contract/forges/forge.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { openUserContext, type Context } from '../../context/context.ts'
import { chosenCredential, resolveProject } from '../../context/resolve.ts'
import { example, prints } from '../../help/help.ts'
import type { Column } from '../../output/output.ts'
import { wordAsNull } from '../../parsing/arguments.ts'

type Forge = Output<Contract['forges']['get']>
type Secret = Output<Contract['forges']['giveWebhookSecret']>

interface Options {
  kind?: ForgeKind | 'auto'
  remote?: string
  base?: string
  credential?: string
  command?: string
  issueLabel?: string
  issueComments?: boolean
  autoMerge?: boolean
  mergeMethod?: MergeMethod
  maxRounds?: number
  newWebhookSecret?: boolean
}

/** The options that change the settings. */
const changing: (keyof Options)[] = [
  'kind',
  'remote',
  'base',
  'credential',
  'command',
  'issueLabel',
  'issueComments',
  'autoMerge',
  'mergeMethod',
  'maxRounds',
]

const secretFields: Column<Secret>[] = [
  { name: 'url', header: 'Address', value: ({ url }) => url },
  { name: 'secret', value: ({ secret }) => secret },
]
const fields: Column<Forge>[] = [
  { name: 'kind', value: ({ kind }) => kind },
  { name: 'url', style: 'text', value: ({ url }) => url },
  { name: 'repository', value: ({ repository }) => repository },
  { name: 'remote', value: ({ remote }) => remote },
  { name: 'problem', style: 'text', value: ({ problem }) => problem },
  { name: 'base', value: ({ settings }) => settings.base },
  { name: 'credentialId', header: 'Credential', value: ({ settings }) => settings.credentialId },
  { name: 'command', style: 'text', value: ({ settings }) => settings.command },
  { name: 'mergeMethod', header: 'Merge method', value: ({ settings }) => settings.mergeMethod },
  { name: 'autoMerge', header: 'Auto-merge', value: ({ settings }) => settings.autoMerge },
  { name: 'maxRounds', header: 'Rounds', value: ({ settings }) => settings.maxRounds },
  { name: 'issueLabel', header: 'Issue label', value: ({ settings }) => settings.issueLabel },
  { name: 'issueComments', header: 'Issue comments', value: ({ settings }) => settings.issueComments },
]

export function registerForge(projects: Command): void {
  const forge = projects
    .command('forge [project]')
    .summary("Show or change a project's forge")
    .description(
      'Show or change the forge of a project (default: the current one): GitHub, GitLab, Gitea or Forgejo, selected by the Git remote, or another forge through a command. Its token is one of your credentials (board credentials add --provider github). The board sends the token only to the address of the credential.',
    )
    .addOption(
      new Option(
        '--kind <forge>',
        "kind of the forge; auto: detect it from the credential or the remote's URL",
      ).choices([...ForgeKind.options, 'auto']),
    )
    .option('--remote <name>', 'Git remote to push to; auto: the upstream of the branch, or origin')
    .option('--base <branch>', "target branch of merges; auto: the forge's default branch")
    .option('--credential <credential>', 'credential with the token (name or ID); none: no credential')
    .option('--command <command>', 'with --kind command: program for the forge; none: no program')
    .addOption(new Option('--merge-method <how>', 'merge method of pull requests').choices(MergeMethod.options))
    .option('--auto-merge', 'merge new pull requests as soon as the forge allows it')
    .option('--no-auto-merge', 'turn off automatic merges')
    .addOption(
      new Option('--max-rounds <number>', 'maximum number of feedback rounds per pull request; 0 for none').argParser(
        roundsOf,
      ),
    )
    .option('--issue-label <label>', 'label of issues that become cards; none: no issues')
    .option('--issue-comments', 'copy comments between issues and cards')
    .option('--no-issue-comments', 'do not copy comments')
    .addOption(
      new Option(
        '--new-webhook-secret',
        'replace the secret that signs webhook deliveries of the forge, and show the new secret once with the address',
      ).conflicts(changing),
    )
    .action(async (wanted: string | undefined, { credential, newWebhookSecret, ...options }: Options) => {
      const context = await openUserContext(forge)
      const { id: projectId } = await (wanted === undefined ? context.project() : resolveProject(context, wanted))
      const credentialId = credential === undefined ? undefined : await chosenCredential(context, credential)
      if (newWebhookSecret) return printSecret(context, projectId)
      const isChange = credential !== undefined || Object.keys(options).length > 0
      if (isChange)
        await context.client.projects.update({ id: projectId, forge: { ...changeOf(options), credentialId } })
      const found = await context.client.forges.get({ projectId })
      if (isChange) return context.out.did(found, `Changed the forge of project ${projectId}.${outcomeOf(found)}`)
      await context.out.record(found, fields)
    })
  prints(forge, 'forges.get')
  example(
    forge,
    'board projects forge',
    'board projects forge --credential work',
    'board projects forge web --base main --merge-method squash --auto-merge',
    'board projects forge --issue-label board --issue-comments',
    'board projects forge --json repository,problem',
    'board projects forge --new-webhook-secret -q > hook.secret',
  )
}

/** Creates the secret of the forge's webhook and prints it once. With `--quiet`, prints nothing else. */
async function printSecret({ out, client }: Context, projectId: string): Promise<void> {
  const made = await client.forges.giveWebhookSecret({ projectId })
  if (out.quiet && !out.json) return out.line(made.secret)
  out.done('Set both in a webhook on the forge, with JSON as its content. The secret is not shown again.')
  await out.record(made, secretFields)
}

const changeOf = ({ kind, remote, base, command, issueLabel, ...rest }: Omit<Options, 'credential'>) => ({
  ...rest,
  kind: wordAsNull('auto', kind),
  remote: wordAsNull('auto', remote),
  base: wordAsNull('auto', base),
  command: wordAsNull('none', command),
  issueLabel: wordAsNull('none', issueLabel),
})

const outcomeOf = ({ url, problem }: Forge): string =>
  url !== null ? ` It is at ${url}.` : problem !== null ? ` ${problem}` : ''

function roundsOf(text: string): number {
  if (!/^\d{1,3}$/.test(text) || Number(text) > 100) throw new InvalidArgumentError('must be a number up to 100.')
  return Number(text)
}
