import type { Command } from 'commander'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { inItsProject } from '../../cards/cardApi.ts'
import { repositoryOption, repositoryWords } from '../../cards/repositoryOption.ts'
import { openContext } from '../../context/context.ts'
import { example, prints } from '../../help/help.ts'
import type { Column } from '../../output/output.ts'

type Pushed = Output<Contract['branches']['push']>
type Repository = Output<Contract['branches']['repositories']>[number]
type Updated = Output<Contract['branches']['update']>

const pushedFields: Column<Pushed>[] = [
  { name: 'commit', style: 'id', value: pushed => pushed.commit },
  { name: 'branch', value: pushed => pushed.branch },
  { name: 'remote', value: pushed => pushed.remote },
  { name: 'pushed', value: pushed => pushed.pushed },
]
const repositoryColumns: Column<Repository>[] = [
  { name: 'name', style: 'title', value: ({ name }) => repositoryWords(name) },
  { name: 'branch', value: ({ branch }) => branch },
  { name: 'additions', header: '+', align: 'right', value: ({ additions }) => additions },
  { name: 'deletions', header: '-', align: 'right', value: ({ deletions }) => deletions },
  { name: 'touched', value: ({ touched }) => touched },
  { name: 'worktree', value: ({ worktree }) => worktree },
  { name: 'baseCommit', header: 'Base', style: 'id', value: ({ baseCommit }) => baseCommit },
  { name: 'path', style: 'text', value: ({ path }) => path },
  { name: 'mergesInto', hidden: true, value: ({ mergesInto }) => mergesInto },
  { name: 'remote', hidden: true, value: ({ remote }) => remote },
]
const updatedFields: Column<Updated>[] = [
  { name: 'commit', style: 'id', value: updated => updated.commit },
  { name: 'branch', value: updated => updated.branch },
  { name: 'baseCommit', header: 'Base', style: 'id', value: updated => updated.baseCommit },
  { name: 'updated', value: updated => updated.updated },
  { name: 'resolving', value: updated => updated.resolving },
  { name: 'remark', value: updated => updated.remark },
]

interface UpdateOptions {
  rebase?: boolean
  resolve?: boolean
  repository?: string
}

export function registerVerbs(cards: Command): void {
  const push = cards
    .command('push <card>')
    .summary("Push a card's branch")
    .description(
      "Push a card's branch to the remote of the project's branch, or to origin, with the configuration of the server's account. Uncommitted changes are committed first. Git hooks do not run.",
    )
    .option('-f, --force', 'replace the remote branch, unless it changed since the last fetch')
    .addOption(repositoryOption('repository of the project (default: home, the repository of the project folder)'))
    .action(async (id: string, options: { force?: boolean; repository?: string }) => {
      const context = await openContext(push)
      const pushed = await inItsProject(context, id, place => context.client.branches.push({ ...place, ...options }))
      const { branch, remote } = pushed
      context.out.done(pushed.pushed ? `Pushed ${branch} to ${remote}.` : `${remote} is up to date with ${branch}.`)
      await context.out.record(pushed, pushedFields)
    })
  prints(push, 'branches.push')
  example(push, 'board cards push 12', 'board cards push 12 --force', 'board cards push 12 --repository lib')

  const update = cards
    .command('update <card>')
    .summary('Update a card from its base')
    .description(
      "Merge the newest commits of the base into a card's branch. The base is the branch of the project's folder, or the start of the card, and is fetched first. Uncommitted changes are committed first. If files conflict, the command changes nothing and names them.",
    )
    .option('--rebase', "rebase the card's commits (default: merge the base)")
    .option('--resolve', 'have the agent resolve conflicts')
    .addOption(repositoryOption('repository of the project (default: home, the repository of the project folder)'))
    .action(async (id: string, { rebase, resolve, repository }: UpdateOptions) => {
      const context = await openContext(update)
      const strategy = rebase ? 'rebase' : 'merge'
      const updated = await inItsProject(context, id, place =>
        context.client.branches.update({ ...place, strategy, resolve, repository }),
      )
      if (updated.remark !== null) context.out.warn(updated.remark)
      context.out.done(
        updated.resolving
          ? `The branch has conflicts. The agent of card ${id} is resolving them. Then run board cards update ${id} again.`
          : updated.updated
            ? `Updated ${updated.branch}.`
            : updated.remark !== null
              ? `${updated.branch} is unchanged.`
              : `${updated.branch} is up to date with its base.`,
      )
      await context.out.record(updated, updatedFields)
    })
  prints(update, 'branches.update')
  example(update, 'board cards update 12', 'board cards update 12 --rebase', 'board cards update 12 --resolve')
  registerRepositories(cards)
}

function registerRepositories(cards: Command): void {
  const repositories = cards
    .command('repositories <card>')
    .summary("Show a card's changes in each repository of its project")
    .description(
      'Show the branch of a card and its changed lines in each repository of the project. To add a repository: board projects edit --add-repository',
    )
    .action(async (id: string) => {
      const context = await openContext(repositories)
      const all = await inItsProject(context, id, place => context.client.branches.repositories(place))
      await context.out.list(all, repositoryColumns)
    })
  prints(repositories, 'branches.repositories')
  example(repositories, 'board cards repositories 12', 'board cards repositories 12 --json name,touched')
}
