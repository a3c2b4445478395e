import { access, constants, stat } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import { searchPath } from './environment.ts'

/** Returns the path of an executable program, which is a path or is searched on the PATH. Null if it does not exist. */
export async function findProgram(program: string, path: string): Promise<string | null> {
  if (program.includes('/')) return isAbsolute(program) && (await isProgram(program)) ? program : null
  const names = process.platform === 'win32' ? ['', '.exe', '.cmd', '.bat'].map(ending => program + ending) : [program]
  for (const folder of searchPath(path).split(delimiter))
    for (const name of names) if (folder && (await isProgram(join(folder, name)))) return join(folder, name)
  return null
}

const isProgram = async (file: string) =>
  (await stat(file).then(
    found => found.isFile(),
    () => false,
  )) &&
  access(file, constants.X_OK).then(
    () => true,
    () => false,
  )
