import { Problem } from '../contract/errors.ts'
import type { ForgeSettings } from '../contract/forges/forge.ts'
import type { ForgeAddress } from './forge.ts'
import { forgeAddressOf, forgeKindOf, webUrlOf } from './forgeAddress.ts'
import type { GitCredential } from '../git/gitCredential.ts'
import { findRemote, type Remote } from '../git/remotes.ts'
import { requireGitRepository } from '../git/repository.ts'
import { readCredential, type CredentialRow } from '../store/accounts/credentials.ts'
import type { Reader } from '../store/engine/database.ts'
import { forgeOf, type ProjectRow } from '../store/projects/projects.ts'

export interface ForgeDependencies {
  db: Reader
  deviceGrants: { secretOf(credential: CredentialRow): Promise<{ token: string }> }
}
/** A project's forge. `token` must be sent only to its API at `address`. */
export interface ProjectForge {
  settings: ForgeSettings
  remote: Remote
  address: ForgeAddress
  token: string
  /** The owner of the credential, whose network access applies to the requests. */
  userId: number
}

/** The user name that goes with a token over HTTP. */
const usernames: Readonly<Record<ForgeAddress['kind'], string>> = {
  github: 'x-access-token',
  gitlab: 'oauth2',
  gitea: 'oauth2',
}

/**
 * The encrypted token of a project for Git over HTTP. Undefined if there is none.
 * @throws Problem CONFLICT if there is no secret yet, SEALED_WITH_OTHER_KEY
 */
export async function gitCredentialOf(
  { db, deviceGrants }: ForgeDependencies,
  { forgeCredentialId }: Pick<ProjectRow, 'forgeCredentialId'>,
): Promise<GitCredential | undefined> {
  const row = forgeCredentialId === null ? undefined : await readCredential(db, forgeCredentialId)
  const url = row && webUrlOf(row)
  if (!row || url === undefined) return undefined
  const { token } = await deviceGrants.secretOf(row)
  return { url, username: usernames[row.provider as ForgeAddress['kind']], password: token }
}

/**
 * A project's forge by its settings, its remote and its credential.
 * @param path the folder of a repository of the project
 * @throws Problem FORGE_NOT_CONFIGURED, NOT_A_GIT_REPOSITORY, CONFLICT, SEALED_WITH_OTHER_KEY
 */
export async function findProjectForge(
  { db, deviceGrants }: ForgeDependencies,
  project: ProjectRow,
  path = project.path,
): Promise<ProjectForge> {
  const { settings, remote } = await findForgeRemote(project, path)
  const row = project.forgeCredentialId === null ? undefined : await readCredential(db, project.forgeCredentialId)
  const kind = forgeKindOf(settings.kind === 'command' ? null : settings.kind, row, remote.url)
  if (kind === undefined)
    throw notConfigured(
      `The forge of the remote ${remote.name} is unknown. Set it with board projects forge --kind, or give the project a credential of the forge with --credential.`,
    )
  const account = requireAccount(row, kind)
  const address = forgeAddressOf(kind, account, remote.url)
  if (!address)
    throw notConfigured(
      `The remote ${remote.name} is not a repository on ${webUrlOf(account)}, the forge of the credential "${account.name}".`,
    )
  const { token } = await deviceGrants.secretOf(account)
  return { settings, remote, address, token, userId: account.userId }
}

/** @throws Problem NOT_A_GIT_REPOSITORY, CONFLICT if there is no such remote */
export async function findForgeRemote(
  project: ProjectRow,
  path: string,
): Promise<Pick<ProjectForge, 'settings' | 'remote'>> {
  const settings = forgeOf(project)
  return { settings, remote: await findRemote(await requireGitRepository(path), settings.remote) }
}

function requireAccount(row: CredentialRow | undefined, kind: ForgeAddress['kind']): CredentialRow {
  if (!row)
    throw notConfigured(
      `The project has no credential for ${kind}. Add one with board credentials add --provider ${kind}, then board projects forge --credential NAME.`,
    )
  if (row.provider !== kind)
    throw notConfigured(`The project's forge is ${kind}, and its credential "${row.name}" is of ${row.provider}.`)
  return row
}

const notConfigured = (message: string) => new Problem('FORGE_NOT_CONFIGURED', message)
