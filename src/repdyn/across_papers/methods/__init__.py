"""Four networks of one size, trained by compiled descent and recorded layer by layer."""
