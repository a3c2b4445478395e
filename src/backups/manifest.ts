import * as v from 'valibot'
import { Count, Time } from '../contract/fields.ts'
import { BackupOrigin } from '../contract/server/backups.ts'

/** The version of the archive's format. */
export const format = 1
export const manifestName = 'manifest.json'
export const databaseName = 'board.db'
export const keyName = 'secret.key'
/** The folder of the attachments' files, in the archive as in the data folder. */
export const attachmentsName = 'attachments'
/** Enough for more than a million attachments. */
export const maxManifestBytes = 256 * 1024 * 1024

const partName = /^(?:board\.db|secret\.key|attachments\/[0-9a-f]{32})$/
const Sha256 = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/))
const Part = v.strictObject({
  name: v.pipe(v.string(), v.regex(partName)),
  size: v.pipe(Count, v.minValue(0)),
  sha256: Sha256,
})

/** One file in an archive. */
export type Part = v.InferOutput<typeof Part>

/**
 * The first file in an archive: the program that created it, and every file that follows. `missing`: attachments whose files were
 * not on disk.
 */
export const Manifest = v.strictObject({
  format: v.literal(format),
  version: v.string(),
  schemaVersion: Count,
  createdAt: Time,
  origin: BackupOrigin,
  parts: v.array(Part),
  missing: v.array(v.pipe(v.string(), v.regex(partName))),
})
export type Manifest = v.InferOutput<typeof Manifest>
