import { Option } from 'commander'
import { homeName } from '../../src/contract/forges/repositories.ts'

/** Converts the name of a project's repository for a request. Users write `home` for the repository of the project's folder. */
export const repositoryOption = (what: string): Option =>
  new Option('--repository <name>', what).argParser(name => (name === homeName ? '' : name))

/** A repository as people name it. */
export const repositoryWords = (name: string): string => name || homeName
