import { diffFiles } from '../contract/forges/diffFiles.ts'

/** The lines of a file in a diff, by their numbers before the change (`old`) and after it (`new`). */
interface ShownFile {
  old: Map<number, string>
  new: Map<number, string>
  isBinary: boolean
}
/** The files of a diff by their paths before and after, which differ for a rename. */
export interface ShownFiles {
  old: Map<string, ShownFile>
  new: Map<string, ShownFile>
}

/** Parses a unified diff of Git. */
export function shownLines(diff: string): ShownFiles {
  const files: ShownFiles = { old: new Map(), new: new Map() }
  for (const { path, oldPath, status, isBinary, hunks } of diffFiles(diff)) {
    const file: ShownFile = { old: new Map(), new: new Map(), isBinary }
    for (const { lines } of hunks)
      for (const line of lines) {
        if (line.old !== undefined) file.old.set(line.old, line.text)
        if (line.new !== undefined) file.new.set(line.new, line.text)
      }
    if (status !== 'added') files.old.set(oldPath, file)
    if (status !== 'deleted') files.new.set(path, file)
  }
  return files
}
