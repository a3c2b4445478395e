import { InvalidArgumentError, type Command } from 'commander'
import { resolve as absolute } from 'node:path'
import type { Repository } from '../../src/contract/forges/repositories.ts'
import type { Context } from '../context/context.ts'
import { usage } from '../failures/failure.ts'
import { collect } from '../parsing/arguments.ts'

export interface RepositoryOptions {
  addRepository?: Repository[]
  removeRepository?: string[]
}
export const repositoryFlags = '--add-repository, --remove-repository'

/** The options that change a project's additional repositories. */
export const addRepositoryOptions = (command: Command): Command =>
  addRepositoryOption(command).option(
    '--remove-repository <name>',
    'take one of them away (repeat it); the work of cards there stays on their branches',
    collect,
  )

export const addRepositoryOption = (command: Command, flag = '--add-repository'): Command =>
  command.option(
    `${flag} <name=folder>`,
    "another Git repository of the project, by a name and its folder on the server (repeat it): a card's agent gets a worktree of each",
    readRepository,
  )

function readRepository(text: string, before: Repository[] = []): Repository[] {
  const [, name, path] = /^([^=]+)=(.+)$/.exec(text) ?? []
  if (name === undefined || path === undefined)
    throw new InvalidArgumentError('must be NAME=FOLDER, for example lib=/srv/lib.')
  return [...before, { name, path: absolute(path) }]
}

/**
 * Returns the repositories after the changes of the options. Undefined if there are none. @throws Failure (usage) for an unknown
 * repository
 */
export async function changedRepositories(
  { client }: Context,
  id: string,
  { addRepository = [], removeRepository = [] }: RepositoryOptions,
): Promise<Repository[] | undefined> {
  if (addRepository.length === 0 && removeRepository.length === 0) return undefined
  const { repositories } = await client.projects.get({ id })
  const missing = removeRepository.find(name => !repositories.some(each => each.name === name))
  if (missing !== undefined)
    throw usage(`the project has no repository ${missing}`, {
      hint: repositories.length === 0 ? undefined : `it has ${repositories.map(({ name }) => name).join(', ')}`,
    })
  return [...repositories.filter(({ name }) => !removeRepository.includes(name)), ...addRepository]
}
