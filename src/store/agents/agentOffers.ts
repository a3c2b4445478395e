import type { Reader, Transaction } from '../engine/database.ts'

/** A model, mode or effort that an agent offers. */
export interface Offered {
  id: string
  name: string
}
/** The options that an agent offered at its last start on a machine; `profile` is '' without one. Lists are JSON text. */
export interface OffersRow {
  host: string
  agent: string
  profile: string
  version: string | null
  models: string
  modes: string
  efforts: string
  signedIn: number | null
  seenAt: string | null
  /** The result of its last check, as JSON. Null before the first check. */
  checkState: string | null
}

const fields =
  'host, agent, profile, version, models, modes, efforts, signed_in AS signedIn, seen_at AS seenAt, check_state AS checkState'

export const listOffers = (db: Reader, host: string): Promise<OffersRow[]> =>
  db.all(`SELECT ${fields} FROM agent_offers WHERE host = ?`, [host])

/** The agents that any machine has started, and those of profiles. */
export const listStoredAgents = async (db: Reader): Promise<string[]> =>
  (
    await db.all<{ agent: string }>('SELECT agent FROM agent_offers UNION SELECT agent FROM agent_profiles ORDER BY 1')
  ).map(({ agent }) => agent)

/** The options that an agent offers on any machine, the latest first. */
export const listOffersOf = (db: Reader, agent: string, profile: string): Promise<OffersRow[]> =>
  db.all(`SELECT ${fields} FROM agent_offers WHERE agent = ? AND profile = ? ORDER BY seen_at DESC`, [agent, profile])

/** Upserts an agent's offers. Omitted fields are unchanged. */
export async function writeOffers(
  tx: Transaction,
  { host, agent, profile, ...change }: Pick<OffersRow, 'host' | 'agent' | 'profile'> & Partial<OffersRow>,
): Promise<void> {
  await tx.run('INSERT INTO agent_offers (host, agent, profile) VALUES (?, ?, ?) ON CONFLICT DO NOTHING', [
    host,
    agent,
    profile,
  ])
  await tx.run(
    `UPDATE agent_offers SET version = coalesce(?, version), models = coalesce(?, models), modes = coalesce(?, modes),
       efforts = coalesce(?, efforts), signed_in = coalesce(?, signed_in), seen_at = coalesce(?, seen_at), check_state = coalesce(?, check_state)
     WHERE host = ? AND agent = ? AND profile = ?`,
    [
      change.version,
      change.models,
      change.modes,
      change.efforts,
      change.signedIn,
      change.seenAt,
      change.checkState,
      host,
      agent,
      profile,
    ],
  )
}
