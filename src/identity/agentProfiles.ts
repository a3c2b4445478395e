import type { InferOutput } from 'valibot'
import type { agentProfiles } from '../contract/agents/agentProfiles.ts'
import { invalid, Problem } from '../contract/errors.ts'
import { changedChoice } from '../domain/agents/agentChoice.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import { find as findCredential } from '../domain/accounts/credentials.ts'
import type { AgentChoice } from '../contract/agents/agentChoice.ts'
import {
  deleteProfile,
  insertProfile,
  listProfiles,
  readProfile,
  readProfileNamed,
  updateProfile,
  type ProfileRow,
} from '../store/agents/agentProfiles.ts'
import { readCredential } from '../store/accounts/credentials.ts'
import type { Reader, Transaction } from '../store/engine/database.ts'
import type { Seal } from './seal.ts'

type NewProfile = InferOutput<(typeof agentProfiles.create)['input']>
type ProfileChange = Omit<InferOutput<(typeof agentProfiles.update)['input']>, 'id'>
type Environment = Record<string, string>

const maxEnvironmentLength = 262_144
const environmentPlace = (id: number): string => `agent-profiles/${id}/environment`

/** All profiles by name. */
export const list = (db: Reader): Promise<ProfileRow[]> => listProfiles(db)

/** @throws Problem PROFILE_NOT_FOUND */
async function find(db: Reader, id: number): Promise<ProfileRow> {
  const profile = await readProfile(db, id)
  if (!profile) throw new Problem('PROFILE_NOT_FOUND')
  return profile
}

/**
 * Creates a profile.
 * @throws Problem CONFLICT when the name is taken, VALIDATION_FAILED, CREDENTIAL_NOT_FOUND for a credential of another user
 */
export async function create(
  seal: Seal,
  tx: Transaction,
  caller: Caller,
  { environment, command, args, credentialId, ...profile }: NewProfile,
): Promise<ProfileRow> {
  if (await readProfileNamed(tx, profile.name))
    throw new Problem('CONFLICT', 'A profile with this name already exists.')
  await requireOwnCredential(tx, caller, credentialId)
  const how = { model: profile.model, mode: profile.mode, effort: profile.effort }
  await requireOffered(tx, profile.agent, credentialId ?? null, how)
  const id = await insertProfile(tx, {
    name: profile.name,
    agent: profile.agent,
    command: command && JSON.stringify(command),
    args: JSON.stringify(args),
    credentialId: credentialId ?? null,
    ...how,
  })
  updateProfile(tx, id, sealEnvironment(seal, id, environment))
  return find(tx, id)
}

/** Changes a profile. @throws Problem PROFILE_NOT_FOUND, VALIDATION_FAILED, CREDENTIAL_NOT_FOUND, SEALED_WITH_OTHER_KEY */
export async function update(
  seal: Seal,
  tx: Transaction,
  caller: Caller,
  id: number,
  { environment, command, args, credentialId, ...how }: ProfileChange,
): Promise<ProfileRow> {
  const before = await find(tx, id)
  if (credentialId !== before.credentialId) await requireOwnCredential(tx, caller, credentialId)
  await requireOffered(tx, before.agent, credentialId === undefined ? before.credentialId : credentialId, how)
  updateProfile(tx, id, {
    ...definedFields(how),
    ...(command !== undefined && { command: command && JSON.stringify(command) }),
    ...(args && { args: JSON.stringify(args) }),
    ...(credentialId !== undefined && { credentialId }),
    ...(environment && sealEnvironment(seal, id, mergeEnvironment(environmentOf(seal, before), environment))),
  })
  return find(tx, id)
}

/** @throws Problem PROFILE_NOT_FOUND */
export async function remove(tx: Transaction, id: number): Promise<void> {
  await deleteProfile(tx, (await find(tx, id)).id)
}

/** The variables of a profile. @throws Problem SEALED_WITH_OTHER_KEY */
const environmentOf = (seal: Seal, { id, sealedEnv }: Pick<ProfileRow, 'id' | 'sealedEnv'>): Environment =>
  sealedEnv === null ? {} : (JSON.parse(seal.open(environmentPlace(id), sealedEnv)) as Environment)

/** A profile in the form that launches use. @throws Problem SEALED_WITH_OTHER_KEY */
export const openProfile = (seal: Seal, row: ProfileRow) => ({
  name: row.name,
  command: row.command === null ? null : (JSON.parse(row.command) as string[]),
  args: JSON.parse(row.args) as string[],
  env: environmentOf(seal, row),
})

function sealEnvironment(seal: Seal, id: number, environment: Environment): Pick<ProfileRow, 'envNames' | 'sealedEnv'> {
  const json = JSON.stringify(environment)
  if (json.length > maxEnvironmentLength)
    throw invalid('environment', `must have at most ${maxEnvironmentLength} characters in total`)
  const names = Object.keys(environment).sort()
  return {
    envNames: JSON.stringify(names),
    sealedEnv: names.length === 0 ? null : seal.seal(environmentPlace(id), json),
  }
}

/** A variable with null is removed. */
function mergeEnvironment(before: Environment, change: Readonly<Record<string, string | null>>): Environment {
  const after: Environment = { ...before }
  for (const [name, value] of Object.entries(change))
    if (value === null) delete after[name]
    else after[name] = value
  return after
}

const definedFields = <T extends object>(change: T) =>
  Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)) as Partial<T>

const requireOffered = (
  tx: Transaction,
  agent: string,
  credentialId: number | null,
  { model, mode, effort }: Partial<Pick<AgentChoice, 'model' | 'mode' | 'effort'>>,
): Promise<Partial<AgentChoice>> =>
  changedChoice(
    tx,
    { listIds: async () => [agent] },
    { model, mode, effort },
    async () => [{ agent, profile: null, model: null, mode: null, effort: null }],
    async () => (credentialId === null ? undefined : readCredential(tx, credentialId)),
  )

async function requireOwnCredential(tx: Reader, caller: Caller, id: number | null | undefined): Promise<void> {
  if (id !== null && id !== undefined) await findCredential(tx, caller, id)
}
