"""The ground floor: values, errors and ports; standard library only."""
