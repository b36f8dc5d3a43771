from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("dashboard", "0013_followed"),
    ]

    operations = [
        migrations.CreateModel(
            name="JobTag",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(db_index=True, max_length=40)),
                (
                    "job",
                    models.ForeignKey(on_delete=models.deletion.CASCADE, related_name="tags", to="dashboard.job"),
                ),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(fields=("job", "name"), name="one_tag_of_a_name_per_job"),
                ],
            },
        ),
    ]
