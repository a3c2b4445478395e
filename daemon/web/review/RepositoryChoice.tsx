import { homeName } from '../../../src/contract/forges/repositories.ts'
import type { CardRepository } from './reviewStore.ts'

interface RepositoryChoiceProps {
  all: readonly CardRepository[]
  repository: string
  onChoose: (repository: string) => void
}

/** The choice of the repository to show. Empty for a project with one repository. */
export function RepositoryChoice({ all, repository, onChoose }: RepositoryChoiceProps) {
  if (all.length < 2) return null
  return (
    <label className="since">
      <span>Repository</span>
      <select value={repository} onChange={({ target }) => onChoose(target.value)}>
        {all.map(({ name, touched, additions, deletions }) => (
          <option key={name} value={name}>
            {name || homeName} {touched ? `(+${additions} −${deletions})` : '(not changed)'}
          </option>
        ))}
      </select>
    </label>
  )
}
