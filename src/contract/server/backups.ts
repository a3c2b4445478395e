import * as v from 'valibot'
import { Count, Time } from '../fields.ts'
import { del, fileAnswers, get, post, superAdmin, superAdminOr } from '../route.ts'

/** The origin of a backup: a request, the timetable, a restore that kept the replaced data, or an upload. */
export const BackupOrigin = v.picklist(['request', 'timetable', 'restore', 'upload'])
export type BackupOrigin = v.InferOutput<typeof BackupOrigin>
/**
 * `sha256` is the hash of the whole file; `verified` whether its parts were opened and matched their hashes after it was written.
 */
export const Backup = v.object({
  filename: v.string(),
  size: Count,
  createdAt: Time,
  sha256: v.string(),
  verified: v.boolean(),
  withKey: v.boolean(),
  version: v.string(),
  origin: BackupOrigin,
})
export type Backup = v.InferOutput<typeof Backup>
const Restored = v.object({ filename: v.string(), keptAs: v.string() })
/** A restore that is running: its step, and the completed part of the step from 0 to 1, or null if it is unknown. */
export const RestoreProgress = v.object({
  filename: v.string(),
  step: v.picklist(['verify', 'keep', 'replace']),
  share: v.nullable(v.number()),
})
export type RestoreProgress = v.InferOutput<typeof RestoreProgress>

export const backups = {
  create: post('/api/backups', {
    audited: { target: 'backup', id: 'filename', detail: ['withKey'] },
    who: superAdminOr('backups.create'),
    summary: 'Back up the database and the attachments',
    input: v.optional(v.strictObject({ withKey: v.optional(v.boolean(), false) }), {}),
    output: Backup,
    idempotent: false,
    status: 201,
    takesLong: true,
  }),
  list: get('/api/backups', {
    who: superAdminOr('backups.read'),
    summary: 'List backups, newest first',
    output: v.array(Backup),
  }),
  upload: post('/api/backups/upload', {
    fails: ['INVALID_BACKUP', 'BACKUP_EXISTS'],
    audited: { target: 'backup', id: 'filename' },
    who: superAdmin,
    summary: 'Upload a backup as multipart/form-data, field file',
    details: 'The server verifies the file before it stores it.',
    transfer: 'upload',
    output: Backup,
    idempotent: false,
    status: 201,
  }),
  download: get('/api/backups/{filename}', {
    notFound: { filename: 'BACKUP_NOT_FOUND' },
    audited: { target: 'backup' },
    who: superAdminOr('backups.read'),
    summary: 'Download a backup',
    transfer: 'file',
    answers: fileAnswers('application/gzip'),
    fails: ['RANGE_NOT_SATISFIABLE'],
  }),
  delete: del('/api/backups/{filename}', {
    notFound: { filename: 'BACKUP_NOT_FOUND' },
    audited: { target: 'backup' },
    who: superAdmin,
    summary: 'Delete a backup',
  }),
  restoring: get('/api/backups/restoring', {
    who: superAdmin,
    summary: 'Show the progress of the running restore',
    details: 'While the server replaces the data in the last step, it does not respond.',
    output: v.object({ progress: v.nullable(RestoreProgress) }),
  }),
  restore: post('/api/backups/{filename}/restore', {
    fails: ['INVALID_BACKUP'],
    notFound: { filename: 'BACKUP_NOT_FOUND' },
    audited: { target: 'backup' },
    who: superAdmin,
    summary: 'Restore a backup',
    details: 'The server verifies the backup and backs up the current state first.',
    output: Restored,
    takesLong: true,
  }),
}
