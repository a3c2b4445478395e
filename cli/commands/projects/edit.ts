import { Option, type Command } from 'commander'
import { resolve as absolute } from 'node:path'
import { addChoiceOptions, choiceFlags, readAgentFields, type ChoiceOptions } from '../../agents/agentOption.ts'
import { collect, count, countFromZero, orWord, wordAsNull } from '../../parsing/arguments.ts'
import { openUserContext, type Context } from '../../context/context.ts'
import { addApprovalOptions, approvalFlags, changedApprovals, type ApprovalOptions } from '../../projects/approvals.ts'
import { usage } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import { resolveOrganization, resolveProject } from '../../context/resolve.ts'
import type { AfterMerge } from '../../../src/contract/forges/afterMerge.ts'
import { LandMode } from '../../../src/contract/forges/landings.ts'
import { OnSilence } from '../../../src/contract/agents/silence.ts'
import { afterMergeIn } from '../../projects/afterMergeOption.ts'
import {
  addRepositoryOptions,
  changedRepositories,
  repositoryFlags,
  type RepositoryOptions,
} from '../../projects/repositoryOptions.ts'
import { changedLimits, onLimitOf, type OnLimit } from '../../projects/usageLimitOptions.ts'

interface EditOptions extends ChoiceOptions, ApprovalOptions, RepositoryOptions {
  name?: string
  path?: string
  org?: string
  onLimit?: OnLimit
  next?: string[]
  onSilence?: OnSilence
  slots?: number | 'none'
  sessionCards?: number
  gateRounds?: number
  land?: LandMode
  afterMerge?: AfterMerge
}

export function registerEdit(projects: Command): void {
  const described = projects
    .command('edit [project]')
    .summary('Change a project')
    .description('Change a project (default: the current one).')
    .option('--name <name>', 'new name')
    .option('--path <folder>', 'folder on the server; set the current one to confirm a changed repository')
    .option('--org <organization>', 'name or ID of the organization; none: no organization')
  const edit = addChoiceOptions(described, 'default agent of its cards; none for no agent')
  addApprovalOptions(addRepositoryOptions(addTroubleOptions(edit))).action(
    async (wanted: string | undefined, options: EditOptions) => {
      if (Object.keys(options).length === 0)
        throw usage('nothing to change', {
          hint: `specify --name, --path, --org, --on-limit, --next, --on-silence, --slots, --session-cards, --gate-rounds, --land, --after-merge or one of ${choiceFlags}, ${approvalFlags}, ${repositoryFlags}`,
          see: 'board projects edit --help',
        })
      const context = await openUserContext(edit)
      const { id } = await (wanted === undefined ? context.project() : resolveProject(context, wanted))
      const usageLimits = await changedLimits(context, id, options)
      const edited = await context.client.projects.update({
        id,
        ...(await readChange(context, options)),
        repositories: await changedRepositories(context, id, options),
        usageLimits,
        onSilence: options.onSilence,
        agentSlots: wordAsNull('none', options.slots),
        sessionCards: options.sessionCards,
        gateRounds: options.gateRounds,
        land: options.land,
        afterMerge: options.afterMerge,
        approvalPolicy: await changedApprovals(context, id, options),
      })
      await context.out.did(edited, `Edited project ${id}.`)
    },
  )
  prints(edit, 'projects.get')
  example(
    edit,
    'board projects edit --agent claude',
    'board projects edit web --name website',
    'board projects edit --agent codex --model gpt-5',
    'board projects edit --agent none --model none',
    'board projects edit --on-limit wait',
    'board projects edit --on-silence end',
    'board projects edit --slots 2',
    'board projects edit --session-cards 100',
    'board projects edit --after-merge done,worktree',
    'board projects edit --add-repository lib=../lib --remove-repository docs',
    'board projects edit --approve-default allow_in_worktree --approve-allow "git status" --approve-allow "npm test"',
    'board projects edit --next codex --next "claude::work key"',
  )
}

/** The options for limits of agents, silent agents, and the steps after a merge. */
const addTroubleOptions = (edit: Command): Command =>
  edit
    .addOption(
      new Option(
        '--on-limit <what>',
        'when an agent reaches a usage limit: stop, wait until the limit resets, or next to continue with the first of --next',
      ).argParser(onLimitOf),
    )
    .option(
      '--next <agent[:profile][:credential]>',
      'agent that continues after a usage limit is reached (repeatable, in order); each part is a name, an ID or empty; none removes all',
      collect,
    )
    .addOption(
      new Option(
        '--on-silence <what>',
        'when an agent is silent for longer than board serve --agent-silence: wait (notify people once) or end (end its session)',
      ).choices(OnSilence.options),
    )
    .addOption(
      new Option('--slots <number>', 'maximum number of concurrent agents; none for no limit').argParser(
        orWord('none', count),
      ),
    )
    .addOption(
      new Option(
        '--session-cards <number>',
        'maximum number of cards that an agent session can create (default: 50)',
      ).argParser(countFromZero),
    )
    .addOption(
      new Option(
        '--gate-rounds <number>',
        'how often a card in auto mode goes back to its agent because its gates failed (default: 3)',
      ).argParser(countFromZero),
    )
    .addOption(
      new Option('--land <mode>', 'who merges the cards in auto mode: people, or the landing queue').choices(
        LandMode.options,
      ),
    )
    .addOption(
      new Option(
        '--after-merge <steps>',
        'steps after each merge: done moves the card to its done column, worktree removes its worktree; done,worktree for both, none for none',
      ).argParser(afterMergeIn),
    )

const readChange = async (context: Context, { name, path, org, ...choice }: EditOptions) => ({
  name,
  path: path === undefined ? undefined : absolute(path),
  ...(await readAgentFields(context, choice)),
  organizationId: org === undefined ? undefined : org === 'none' ? null : (await resolveOrganization(context, org)).id,
})
