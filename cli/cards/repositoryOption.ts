import { Option } from 'commander'
import { homeName } from '../../src/contract/forges/repositories.ts'

/** Names one of a project's repositories as requests do, where people say home for the one of the project's folder. */
export const repositoryOption = (what: string): Option =>
  new Option('--repository <name>', what).argParser(name => (name === homeName ? '' : name))

/** A repository as people name it. */
export const repositoryWords = (name: string): string => name || homeName
