interface Organization {
  id: string
  name: string
}

/** The name of an organization, with its ID if another one of the list has the same name. */
export const organizationLabel = ({ id, name }: Organization, all: readonly Organization[]): string =>
  all.some(other => other.id !== id && other.name === name) ? `${name} (#${id})` : name
