import type { Reader, Transaction } from '../engine/database.ts'
import { defineRecord, id, json, text, type Change, type NewRow, type Row } from '../engine/record.ts'

/** A named configuration of an agent. */
export const profileFields = {
  id: id(),
  name: text(),
  agent: text(),
  /** Replaces the agent's own command; null keeps it. */
  command: json<string[]>().orNull(),
  /** Arguments that are added to the command. */
  args: json<string[]>().initially('[]'),
  envNames: json<string[]>().initially('[]'),
  /** The environment as JSON, sealed; null without one. */
  sealedEnv: text().orNull(),
  model: text().orNull(),
  mode: text().orNull(),
  effort: text().orNull(),
  credentialId: id().orNull(),
  createdAt: text().initiallyNow(),
  updatedAt: text().initiallyNow(),
}
export type ProfileRow = Row<typeof profileFields>

const record = defineRecord('agent_profiles', 'a', profileFields)

export const listProfiles = (db: Reader): Promise<ProfileRow[]> =>
  db.all(`SELECT ${record.columns} FROM agent_profiles a ORDER BY a.name`)
export const readProfile = (db: Reader, id: number): Promise<ProfileRow | undefined> =>
  db.get(`SELECT ${record.columns} FROM agent_profiles a WHERE a.id = ?`, [id])
/** Names are compared without regard to case. */
export const readProfileNamed = (db: Reader, name: string): Promise<ProfileRow | undefined> =>
  db.get(`SELECT ${record.columns} FROM agent_profiles a WHERE a.name = ?`, [name])

export const insertProfile = (tx: Transaction, profile: NewRow<typeof profileFields>): Promise<number> =>
  record.insert(tx, profile)
export const updateProfile = (tx: Transaction, id: number, change: Change<typeof profileFields>): void =>
  record.update(tx, id, change)
export const deleteProfile = async (tx: Transaction, id: number): Promise<void> => {
  await tx.run('DELETE FROM agent_profiles WHERE id = ?', [id])
}
