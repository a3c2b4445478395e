import * as v from 'valibot'
import { ImportErrors, importError } from './importErrors.ts'
import { openJson, type Placed } from './jsonFile.ts'
import { RecordIndex } from './recordIndex.ts'
import { parts } from './parts.ts'
import { Head } from './records.ts'

/** Records that can be imported, regardless of their original format. They can be read repeatedly. */
export interface Document {
  exportedAt: string | undefined
  organization: { name: string } | null
  records(part: string): AsyncIterable<Placed>
  /** The parts of the file that the board does not support. */
  warnings: readonly string[]
  close(): Promise<void>
}

/** The result of a check: the number of records in each part, and the index of the records. */
export interface Checked {
  counts: Readonly<Record<string, number>>
  known: RecordIndex
}

/** Opens a file of the board's own format. @throws Problem INVALID_IMPORT */
export async function openDocument(path: string): Promise<Document> {
  const file = await openJson(path)
  try {
    const heads = Object.keys(Head.entries)
    if (!file.names.includes('format')) throw importError('format', 'is required: this is not an export of a board')
    const values = Object.fromEntries(
      await Promise.all(
        file.names.filter(name => heads.includes(name)).map(async name => [name, await file.small(name)]),
      ),
    )
    const errors = new ImportErrors()
    for (const name of file.names)
      if (!heads.includes(name) && !parts.some(part => part.name === name))
        errors.add(name.slice(0, 100), 'is not a known part')
    const head = v.safeParse(Head, values)
    if (!head.success) errors.addIssues('', head.issues)
    errors.throwIfAny()
    const { exportedAt, organization } = head.output as v.InferOutput<typeof Head>
    return { exportedAt, organization, records: name => file.entries(name), warnings: [], close: file.close }
  } catch (error) {
    await file.close()
    throw error
  }
}

/**
 * Checks every record of a document individually and against the others, without writing anything.
 * @throws Problem INVALID_IMPORT with the first 20 errors, each with its place, or the signal's reason
 */
export async function check(
  document: Document,
  limits: { maxAttachmentBytes: number },
  signal: AbortSignal,
): Promise<Checked> {
  const errors = new ImportErrors()
  const known = new RecordIndex(errors, limits)
  const counts: Record<string, number> = {}
  for (const { name, schema, maxRecords, check, checkEnd } of parts) {
    counts[name] = 0
    for await (const { place, value } of document.records(name)) {
      signal.throwIfAborted()
      known.place = place
      if (++counts[name] > maxRecords) throw importError(name, `must have at most ${maxRecords} records`)
      const result = v.safeParse(schema, value, { abortPipeEarly: true })
      if (result.success) check?.(result.output, known)
      else {
        errors.addIssues(place, result.issues)
        known.tolerate(name, value)
      }
    }
    known.place = name
    checkEnd?.(known)
  }
  errors.throwIfAny()
  return { counts, known }
}
