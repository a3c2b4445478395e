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
    'repository to remove (repeatable); the work of cards remains on their branches',
    collect,
  )

export const addRepositoryOption = (command: Command, flag = '--add-repository'): Command =>
  command.option(
    `${flag} <name=folder>`,
    'additional Git repository of the project: a name and a folder on the server (repeatable). A card gets a worktree of each repository',
    readRepository,
  )

function readRepository(text: string, before: Repository[] = []): Repository[] {
  const [, name, path] = /^([^=]+)=(.+)$/.exec(text) ?? []
  if (name === undefined || path === undefined)
    throw new InvalidArgumentError('must be NAME=FOLDER, for example lib=/srv/lib.')
  return [...before, { name, path: absolute(path) }]
}

/**
 * Returns the repositories after the changes of the options. Undefined if there are none.
 * @throws Failure (usage) for an unknown repository
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
